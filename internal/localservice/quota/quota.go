// Package quota limits how much of a shared resource one client may use.
package quota

import (
	"cmp"
	"math"
	"net/netip"
	"sync"
	"time"
)

// Client is who uses a resource. Its token and its address are counted separately,
// because one client may have many tokens, and many clients one address.
type Client struct {
	Token string // the token's id, or that of another login; "" before it is known
	Addr  netip.Addr
}

// AddrOf returns the address in a host and a port, such as that of a connection's other end, or an
// invalid one, for which only a token counts.
func AddrOf(hostPort string) netip.Addr {
	addr, _ := netip.ParseAddrPort(hostPort)
	return addr.Addr()
}

// Limit bounds how many units of a resource one token, one address and all clients
// together may have. Addresses of IPv6 count by their first 64 bits, because a client can
// choose the others. In each field, a number below 1 is no limit.
type Limit struct{ Token, Address, Total int }

// Or returns l with the numbers of d in place of those that are 0.
func (l Limit) Or(d Limit) Limit {
	return Limit{cmp.Or(l.Token, d.Token), cmp.Or(l.Address, d.Address), cmp.Or(l.Total, d.Total)}
}

// key is what a number is counted for: a token, an address, or, with neither, everything.
type key struct {
	token   string
	address netip.Prefix
}

// subscriber is the length of the part of an IPv6 address that a client can't choose.
const subscriber = 64

// each calls f for each of the client's keys with its limit until f returns false.
func (l Limit) each(c Client, f func(key, int) bool) bool {
	if c.Token != "" && !f(key{token: c.Token}, l.Token) {
		return false
	}
	if c.Addr.IsValid() {
		addr := c.Addr.Unmap().WithZone("")
		bits := addr.BitLen()
		if addr.Is6() {
			bits = subscriber
		}
		prefix, _ := addr.Prefix(bits) // fails for no number of bits above
		if !f(key{address: prefix}, l.Address) {
			return false
		}
	}
	return f(key{}, l.Total)
}

// Count limits how many units are held at the same time. Its methods may be called
// concurrently.
type Count struct {
	Limit Limit
	// Shared limits a token further, to an eighth of what is left, but not below one unit, so that a few tokens that
	// take all they can get leave some for others. It has no effect where the Limit gives a token everything.
	Shared bool

	mu    sync.Mutex
	taken map[key]int
}

// parts is into how many parts what is left is divided, of which a token may have one. With eight, 20 tokens that take
// all they can get leave 6 of 64 units and 91 of 1,000.
const parts = 8

// share returns how many units a token may have now.
func (c *Count) share() int {
	if total := c.Limit.Total; c.Shared && c.Limit.Token > 0 && c.Limit.Token < total {
		return max(1, (total-c.taken[key{}])/parts)
	}
	return math.MaxInt
}

// Take takes n units for a client and returns true, or takes nothing and returns false
// because one of its limits would be exceeded.
func (c *Count) Take(by Client, n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.fits(by, n) {
		return false
	}
	if c.taken == nil {
		c.taken = map[key]int{}
	}
	c.Limit.each(by, func(k key, _ int) bool { c.taken[k] += n; return true })
	return true
}

// Fits reports whether Take would take n units now.
func (c *Count) Fits(by Client, n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fits(by, n)
}

func (c *Count) fits(by Client, n int) bool {
	share := c.share()
	return c.Limit.each(by, func(k key, limit int) bool {
		held := c.taken[k] + n
		return (limit < 1 || held <= limit) && (k.token == "" || held <= share)
	})
}

// Free gives back what Take took.
func (c *Count) Free(by Client, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Limit.each(by, func(k key, _ int) bool {
		if c.taken[k] -= n; c.taken[k] <= 0 {
			delete(c.taken, k)
		}
		return true
	})
}

// Total returns how many units are held by all clients.
func (c *Count) Total() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.taken[key{}]
}

// Rate limits how many units are taken within a window of time. A window begins with the
// first Take after the end of the previous one. Its methods may be called
// concurrently.
type Rate struct {
	Limit  Limit
	Window time.Duration

	mu    sync.Mutex
	began time.Time
	count Count
}

// Take is [Count.Take] for the present window.
func (r *Rate) Take(by Client, n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.began) >= r.Window {
		r.began, r.count.taken = now, nil
	}
	r.count.Limit = r.Limit
	return r.count.Take(by, n)
}
