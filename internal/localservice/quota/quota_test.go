package quota

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
)

func client(token, addr string) Client { return Client{token, netip.MustParseAddr(addr)} }

func TestCount(t *testing.T) {
	c := Count{Limit: Limit{Token: 2, Address: 3, Total: 4}}
	abuser, neighbour, stranger := client("a", "192.0.2.1"), client("b", "::ffff:192.0.2.1"), client("c", "192.0.2.2")
	for i, want := range []bool{true, true, false} {
		expect.Equal(t, c.Take(abuser, 1), want, "number %d", i)
	}
	if c.Take(neighbour, 2) || !c.Take(neighbour, 1) || c.Take(neighbour, 1) {
		t.Error("want one more for the address")
	}
	if c.Take(stranger, 2) || !c.Take(stranger, 1) || c.Total() != 4 {
		t.Error("want one more for all")
	}
	c.Free(abuser, 1)
	if !c.Take(neighbour, 1) {
		t.Error("what was freed can't be taken")
	}
	c.Free(neighbour, 2)
	c.Free(abuser, 1)
	c.Free(stranger, 1)
	expect.Equal(t, len(c.taken), 0, "left are %v", c.taken)
	for range 10 {
		if unlimited := (Limit{Token: -1}).Or(Limit{Token: 1}); !(&Count{Limit: unlimited}).Take(abuser, 10) {
			t.Error("a negative number is no limit")
		}
	}
}

// TestSomeIsLeftForANewcomer: clients that take all they can get, one after the other, leave something for one that
// has nothing.
func TestSomeIsLeftForANewcomer(t *testing.T) {
	c := Count{Limit: Limit{Token: 16, Total: 64}, Shared: true}
	var held []int
	for i := range 20 {
		n := 0
		for c.Take(client(string(rune('a'+i)), "192.0.2.1"), 1) {
			n++
		}
		held = append(held, n)
	}
	if held[0] != 7 || held[19] != 1 || c.Total() != 55 {
		t.Errorf("of 64, %d clients have %v", len(held), held)
	}
	if !c.Take(client("newcomer", "192.0.2.2"), 1) {
		t.Error("nothing is left")
	}
	for _, limit := range []Limit{{Token: 4, Total: 4}, {Token: -1, Total: 4}, {Token: 4}} {
		if whole := (Count{Limit: limit, Shared: true}); !whole.Take(client("a", "192.0.2.1"), 3) || !whole.Take(client("a", "192.0.2.1"), 1) {
			t.Errorf("%+v does not give a token everything", limit)
		}
	}
}

// TestAddressesOfOneSubscriber: an IPv6 client has more addresses than could be counted.
func TestAddressesOfOneSubscriber(t *testing.T) {
	c := Count{Limit: Limit{Address: 1}}
	if !c.Take(client("", "2001:db8::1"), 1) || c.Take(client("", "2001:db8::ffff:2"), 1) || !c.Take(client("", "2001:db8:0:1::1"), 1) {
		t.Error("want one for each 64 bits")
	}
	if !c.Take(client("", "192.0.2.1"), 1) || !c.Take(client("", "192.0.2.2"), 1) {
		t.Error("want one for each IPv4 address")
	}
	for range 2 {
		if !c.Take(Client{}, 1) {
			t.Error("a client without an address has no limit for one")
		}
	}
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := Rate{Limit: Limit{Token: 1}, Window: time.Hour}
		one := client("token", "192.0.2.1")
		if !r.Take(one, 1) || r.Take(one, 1) {
			t.Error("want one within an hour")
		}
		time.Sleep(time.Hour)
		if !r.Take(one, 1) {
			t.Error("want one in the next hour")
		}
	})
}
