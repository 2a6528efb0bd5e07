package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/streamsforge/streamsforge/server/config"
	"github.com/streamsforge/streamsforge/streams"
)

// listenHTTP opens the port of REST and console. A failure names the setting that remedies it.
func listenHTTP(ctx context.Context, s *config.Settings) (net.Listener, error) {
	address := net.JoinHostPort(s.HTTP.Host, strconv.Itoa(s.HTTP.Port))
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err == nil {
		return l, nil
	}
	var dns *net.DNSError
	var addr *net.AddrError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, &streams.SettingError{Key: "Http:Port", Value: strconv.Itoa(s.HTTP.Port), Err: fmt.Errorf("address %s is in use", address), Hint: "set another port, such as --Http:Port 5299, or stop the process that has it"}
	case errors.Is(err, syscall.EACCES):
		return nil, &streams.SettingError{Key: "Http:Port", Value: strconv.Itoa(s.HTTP.Port), Err: errors.New("not permitted"), Hint: "set a port above 1023"}
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.As(err, &dns), errors.As(err, &addr):
		return nil, &streams.SettingError{Key: "Http:Host", Value: s.HTTP.Host, Err: errors.New("not an address of this machine"), Hint: "set 127.0.0.1, or 0.0.0.0 for all addresses"}
	}
	return nil, &streams.SettingError{Key: "Http:Port", Value: strconv.Itoa(s.HTTP.Port), Err: err, Hint: "set another port or host"}
}

// loadTLS reads the certificate of the listeners; nil when TLS is off.
func loadTLS(s *config.Settings) (*tls.Config, error) {
	if !s.TLS.Enabled {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(s.TLS.CertPath, s.TLS.KeyPath)
	if err != nil {
		return nil, &streams.SettingError{Key: "Tls:CertPath", Value: s.TLS.CertPath, Err: err, Hint: "Tls:CertPath and Tls:KeyPath name a PEM certificate and its key"}
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}, nil
}

// httpServer has the limits that keep a slow or hostile client from holding it; bodies and
// answers are bounded per request by the surface.
func httpServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
