package localservice_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/must"
)

// at opens a TCP connection to one of the service's addresses.
func at(t *testing.T, address string) net.Conn {
	t.Helper()
	_, address, _ = strings.Cut(address, ":") // turn:host:port
	c := must.Get(net.Dial("tcp", strings.TrimPrefix(address, "//")))(t)
	t.Cleanup(func() { _ = c.Close() }) // most are closed before
	return c
}

// get sends a request and waits for the response, whatever it is.
func get(c net.Conn) error {
	if _, err := io.WriteString(c, "GET /assistant/status HTTP/1.1\r\nHost: "+c.RemoteAddr().String()+"\r\nConnection: close\r\n\r\n"); err != nil {
		return err
	}
	reply, err := io.ReadAll(c)
	if err == nil && len(reply) == 0 {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// bind sends a STUN binding request and waits for the response.
func bind(c net.Conn) error {
	request := make([]byte, 20)
	binary.BigEndian.PutUint16(request, 1)
	binary.BigEndian.PutUint32(request[4:], 0x2112A442)
	if _, err := c.Write(request); err != nil {
		return err
	}
	_, err := io.ReadFull(c, request)
	return err
}

// descriptorLimit is set in the child process of TestDescriptorsUsedUp.
const descriptorLimit = "LOCALSERVICE_TEST_DESCRIPTORS"

// runLimited is the child process: a service with few file descriptors, until its
// standard input ends.
func runLimited() {
	limit := syscall.Rlimit{Cur: 256, Max: 256}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		panic(err)
	}
	s, err := localservice.Start(context.Background(), localservice.Options{Voice: "builtin"})
	if err != nil {
		panic(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(s.Info()); err != nil {
		panic(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := s.Close(); err != nil {
		panic(err)
	}
}

// TestDescriptorsUsedUp: clients use up all file descriptors of the service; once
// they have gone, its three TCP addresses answer again.
func TestDescriptorsUsedUp(t *testing.T) {
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), descriptorLimit+"=1")
	child.Stderr = os.Stderr
	stdin := must.Get(child.StdinPipe())(t)
	stdout := must.Get(child.StdoutPipe())(t)
	must.Do(t, child.Start())
	defer func() {
		if err := errors.Join(stdin.Close(), child.Wait()); err != nil {
			t.Error(err)
		}
	}()
	var info localservice.Info
	must.Do(t, json.NewDecoder(stdout).Decode(&info))
	answers := map[string]func(net.Conn) error{info.GenieURL: get, info.ControlURL: get, info.TURNServerURL: bind}
	for address, ask := range answers {
		if err := ask(at(t, address)); err != nil {
			t.Fatalf("%s: %v", address, err)
		}
	}
	var taken []net.Conn
	full := false
	// More than once, because on a busy machine the service closes the first connections,
	// which send nothing, before the last ones are there.
	for range 5 {
		for range 150 {
			for address := range answers {
				taken = append(taken, at(t, address))
			}
		}
		c := at(t, info.GenieURL)
		must.Do(t, c.SetDeadline(time.Now().Add(300*time.Millisecond)))
		if full = get(c) != nil; full {
			break
		}
	}
	if !full {
		t.Fatal("the descriptors are not used up")
	}
	for _, c := range taken {
		_ = c.Close()
	}
	released := time.Now()
	for address, ask := range answers {
		c := at(t, address)
		must.Do(t, c.SetDeadline(released.Add(patience)))
		if err := ask(c); err != nil {
			t.Errorf("%s: %v after %v", address, err, time.Since(released))
		}
	}
}
