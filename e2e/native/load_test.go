package native

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// load tells how much of the processors other processes have, so that a test of a time limit
// also passes on a machine that is busy with other work.
type load struct {
	busy, all, own time.Duration // of all processors, at the start
}

// tick is the unit of /proc/stat.
const tick = 10 * time.Millisecond

func watchLoad(t *testing.T) *load {
	t.Helper()
	l := &load{}
	l.busy, l.all, l.own = processorTimes()
	return l
}

// others returns which part of the processors other processes have had since the start;
// 0 where the system doesn't tell.
func (l *load) others() float64 {
	busy, all, own := processorTimes()
	if all <= l.all {
		return 0
	}
	return max(0, float64(busy-l.busy-(own-l.own))/float64(all-l.all))
}

// processorTimes returns for how long all processors have been busy, for how long there have
// been any, and how much of them this process has had.
func processorTimes() (busy, all, own time.Duration) {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) == nil {
		own = time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, own
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line)[1:] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil || i > 7 { // user, nice, system, idle, iowait, irq, softirq, steal
			break
		}
		all += time.Duration(n) * tick
		if i != 3 && i != 4 {
			busy += time.Duration(n) * tick
		}
	}
	return busy, all, own
}
