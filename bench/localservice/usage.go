package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is the unit of processor times in /proc on every Linux.
const ticksPerSecond = 100

// usage is what a process has used so far.
type usage struct {
	processor time.Duration
	memory    int64 // resident, in bytes
}

// usage reads /proc (proc(5)).
func (p *process) usage() (usage, error) {
	dir := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return usage{}, err
	}
	// The name in parentheses may hold spaces; the fields after it don't. The
	// first of them is number 3, utime is 14 and stime 15.
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return usage{}, fmt.Errorf("%sstat: %q", dir, stat)
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return usage{}, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err != nil {
		return usage{}, err
	}
	memory, err := os.ReadFile(dir + "statm")
	if err != nil {
		return usage{}, err
	}
	pages := strings.Fields(string(memory))
	if len(pages) < 2 {
		return usage{}, fmt.Errorf("%sstatm: %q", dir, memory)
	}
	resident, err := strconv.ParseInt(pages[1], 10, 64)
	if err != nil {
		return usage{}, err
	}
	return usage{
		processor: time.Duration(user+system) * time.Second / ticksPerSecond,
		memory:    resident * int64(os.Getpagesize()),
	}, nil
}
