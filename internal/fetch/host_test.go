package fetch

import "testing"

func TestPrivateHost(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost.": true, "a.localhost": true, "localhost.example": false,
		"127.0.0.1": true, "127.9.9.9.": true, "10.1.2.3": true, "172.16.0.1": true, "172.32.0.1": false,
		"192.168.1.1": true, "169.254.1.1": true, "0.0.0.0": true, "8.8.8.8": false,
		"2130706433": true, "0x7f000001": true, "0X7F.1": true, "0177.0.0.1": true, "10.66051": true, "0": true, "0x": true,
		"256.1": false, "1.2.3.4.5": false, "4294967296": false, "10.example": false, "0x7f.example": false, "": false,
		"::1": true, "[::1]": true, "fc00::1": true, "fe80::1%eth0": true, "::ffff:10.0.0.1": true, "2001:db8::1": false,
	} {
		if got := PrivateHost(host); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
	}
}
