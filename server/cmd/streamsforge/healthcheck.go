package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// healthTimeout is below the shortest interval at which container platforms probe.
const healthTimeout = 4 * time.Second

func newHealthcheck() *cobra.Command {
	return &cobra.Command{
		Use:   "healthcheck [--ready] [settings]",
		Short: "Ask the running server how it is; exit code 0 when it is well",
		Long: "Asks /healthz, or /readyz with --ready, at Http:Host and Http:Port of the same settings. For container images,\n" +
			"which have no shell: HEALTHCHECK CMD [\"/streamsforge\", \"healthcheck\"].\n" + settingsHelp,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, ready := take(args, "--ready")
			l, help, err := load(cmd, args)
			if help || err != nil {
				return err
			}
			s := l.Settings
			host := s.HTTP.Host
			if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
				host = "127.0.0.1"
			}
			url := "http://"
			if s.TLS.Enabled {
				url = "https://"
			}
			url += net.JoinHostPort(host, strconv.Itoa(s.HTTP.Port)) + "/healthz"
			if ready {
				url = strings.TrimSuffix(url, "/healthz") + "/readyz"
			}
			client := http.Client{
				Timeout: healthTimeout,
				// The question is whether this machine's own server answers; its certificate
				// is made for the names that others use.
				Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, //nolint:gosec // loopback probe
			}
			request, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, url, http.NoBody)
			if err != nil {
				return err
			}
			response, err := client.Do(request)
			if err != nil {
				return fmt.Errorf("not well: %w", err)
			}
			defer response.Body.Close()
			body, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
			fmt.Fprintf(cmd.OutOrStdout(), "%d %s\n", response.StatusCode, strings.TrimSpace(string(body)))
			if response.StatusCode != http.StatusOK {
				return errSilent
			}
			return nil
		},
	}
}
