package localservice

import (
	"maps"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/agentruntime/agentruntime/internal/must"
)

// TestAStartThatFailsLeavesNothingOpen, at whichever file, socket or address it fails: at each try
// the process may open one more.
func TestAStartThatFailsLeavesNothingOpen(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	o := Options{Voice: "builtin"}
	must.Do(t, must.Get(Start(t.Context(), o))(t).Close()) // what a process opens once is open now
	var limit syscall.Rlimit
	must.Do(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	// A number that the process was started with, or that was closed, must not be one file more.
	for fill(t) {
	}
	before := openFiles(t)
	const most = 60
	for more := range most {
		lower := syscall.Rlimit{Cur: uint64(len(before) + more), Max: limit.Max}
		must.Do(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &lower))
		s, err := Start(t.Context(), o)
		must.Do(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
		if err == nil {
			must.Do(t, s.Close())
			if more == 0 {
				t.Error("no start has failed")
			}
			return
		}
		left := openFiles(t)
		maps.DeleteFunc(left, func(number, file string) bool { return before[number] == file })
		if data := must.Get(os.ReadDir(temporary))(t); len(left) > 0 || len(data) > 0 {
			t.Fatalf("%v\nleaves open %v, and data %v", err, left, data)
		}
	}
	t.Errorf("a start needs more than %d files", most)
}

// fill opens a file, and keeps it when its number is lower than one that is in use.
func fill(t *testing.T) bool {
	f := must.Get(os.Open(os.DevNull))(t)
	for number := range openFiles(t) {
		if must.Get(strconv.Atoi(number))(t) > int(f.Fd()) {
			t.Cleanup(func() { _ = f.Close() })
			return true
		}
	}
	must.Do(t, f.Close())
	return false
}

// openFiles returns what the process has open, by number.
func openFiles(t *testing.T) map[string]string {
	files := map[string]string{}
	for _, f := range must.Get(os.ReadDir("/proc/self/fd"))(t) {
		if file, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil { // else it is the folder, which is closed
			files[f.Name()] = file
		}
	}
	return files
}
