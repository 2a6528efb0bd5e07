package server

import (
	"net/http"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails the run when a server leaves a goroutine behind: a stop waits for all that
// the start began.
func TestMain(m *testing.M) {
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			_, _ = os.Stderr.WriteString("goroutines are left behind: " + err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}
