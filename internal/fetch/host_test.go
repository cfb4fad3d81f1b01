package fetch

import (
	_ "embed"
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// hosts are hosts of URLs. js/test/options.test.ts reads them too, because
// js/src/core/options.ts applies the same rule before the Go program is loaded.
//
//go:embed testdata/hosts.json
var hosts []byte

func TestPrivateHost(t *testing.T) {
	var vectors struct{ Private, Public []string }
	must.Do(t, json.Unmarshal(hosts, &vectors))
	check := func(want bool, hosts ...string) {
		for _, host := range hosts {
			expect.Equal(t, PrivateHost(host), want, "%q", host)
		}
	}
	check(true, vectors.Private...)
	check(false, vectors.Public...)
	// Hosts without the brackets of IPv6, and those that no URL can have.
	check(true, "::1", "fe80::1%eth0", "::ffff:10.0.0.1", "4294967296")
	check(false, "", ".", "256.1", "1.2.3.4.5", "0x7f.example", "2001:db8::1", "evil。example", "ｌｏｃａｌ")
}
