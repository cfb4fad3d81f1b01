package token

import (
	"context"
	"encoding/base64"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/store/storetest"
	"github.com/agentruntime/agentruntime/internal/must"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var anywhere = Use{Addr: netip.MustParseAddr("127.0.0.1"), Path: "/assistant/converse"}

func authority(t *testing.T) (*Authority, *store.Store, store.Partner) {
	t.Helper()
	s, partner := storetest.Open(t)
	return NewAuthority(s), s, partner
}

func start(t *testing.T, a *Authority, p store.Partner, g Grant) string {
	t.Helper()
	g.PartnerID, g.Secret = p.ID, p.Secret
	return must.Get(a.Start(t.Context(), g))(t)
}

func TestTokenSaysWhatItWasMintedFor(t *testing.T) {
	a, _, p := authority(t)
	text := start(t, a, p, Grant{
		UserID: "ann", TTL: time.Minute,
		Privileges: "agentid:a-1,geniegpcid:1001,setrole:PLAYBACK_BASE_ROLE,sessionid:g1,whatever:x",
	})
	if !strings.HasPrefix(text, "djJ8") {
		t.Errorf("token begins %q, want djJ8", text[:4])
	}
	raw := must.Get(base64.RawURLEncoding.DecodeString(text))(t)
	if strings.Contains(string(raw), "ann") || strings.Contains(string(raw), "agentid") {
		t.Error("the claims can be read without the secret")
	}
	c := must.Get(a.Check(t.Context(), text, anywhere))(t)
	if c.PartnerID != p.ID || c.UserID != "ann" || c.Kind() != Agent || c.AgentID() != "a-1" ||
		c.ConfigID() != 1001 || c.grants.role != PlaybackRole || c.grants.group != "g1" || !c.Entitled() {
		t.Errorf("claims %+v", c)
	}
}

func TestKinds(t *testing.T) {
	a, s, p := authority(t)
	agents := must.Get(s.Agents(t.Context(), p.ID))(t)
	widget, _, err := a.StartWidget(t.Context(), agents[0].WidgetID)
	if err != nil {
		t.Fatal(err)
	}
	claims := must.Get(a.Check(t.Context(), widget, anywhere))(t)
	enriched := must.Get(a.Bind(t.Context(), claims, agents[0].ConfigID))(t)
	for _, tt := range []struct {
		name, text string
		want       Kind
		config     int64
	}{
		{"admin", start(t, a, p, Grant{Type: TypeAdmin, UserID: "root", Privileges: "disableentitlement"}), Admin, 0},
		{"conversation", start(t, a, p, Grant{Privileges: "geniegpcid:7"}), Conversation, 7},
		{"agent", start(t, a, p, Grant{Privileges: "agentid:x,geniegpcid:7"}), Agent, 7},
		{"admin without a user", start(t, a, p, Grant{Type: TypeAdmin, Privileges: "disableentitlement"}), Admin, 0},
		// The privileges bound such a token to a conversation; its type must not undo that.
		{"conversation of type 2 without a user", start(t, a, p, Grant{Type: TypeAdmin, Privileges: "geniegpcid:7"}), Conversation, 7},
		{"agent of type 2 without a user", start(t, a, p, Grant{Type: TypeAdmin, Privileges: "agentid:x"}), Agent, 0},
		{"conversation of type 2 with a user", start(t, a, p, Grant{Type: TypeAdmin, UserID: "root", Privileges: "geniegpcid:7"}), Admin, 7},
		{"widget", widget, Widget, 0},
		{"widget after appInit", enriched, Widget, agents[0].ConfigID},
		{"view of everything and of one entry", start(t, a, p, Grant{Privileges: "sview:*,sview:x"}), Widget, 0},
		{"the same in the other order", start(t, a, p, Grant{Privileges: "sview:x,sview:*"}), Widget, 0},
		{"view of one entry", start(t, a, p, Grant{Privileges: "sview:x"}), Conversation, 0},
	} {
		c, err := a.Check(t.Context(), tt.text, anywhere)
		if err != nil || c.Kind() != tt.want || c.ConfigID() != tt.config {
			t.Errorf("%s: kind %s, config %d, %v; want %s, %d", tt.name, c.Kind(), c.ConfigID(), err, tt.want, tt.config)
		}
	}
}

func TestStartRefuses(t *testing.T) {
	a, _, p := authority(t)
	good := Grant{PartnerID: p.ID, Secret: p.Secret}
	for _, tt := range []struct {
		name   string
		change func(*Grant)
		want   string
	}{
		{"wrong secret", func(g *Grant) { g.Secret += "x" }, "wrong partner or secret"},
		{"unknown partner", func(g *Grant) { g.PartnerID++ }, "wrong partner or secret"},
		{"admin without user", func(g *Grant) { g.Type = TypeAdmin }, "an admin session needs a userId"},
		{"conversation of type 2 without a user, too long", func(g *Grant) {
			g.Type, g.Privileges, g.TTL = TypeAdmin, "geniegpcid:7", MaxAdminTTL
		}, "expiry: want 1 to 86400 seconds"},
		{"role of type 2 without a user", func(g *Grant) { g.Type, g.Privileges = TypeAdmin, "geniegpcid:7,setrole:A" }, "a role other than PLAYBACK_BASE_ROLE needs an admin session"},
		{"unknown type", func(g *Grant) { g.Type = 1 }, "session type 1: want 0 or 2"},
		{"too long for a user", func(g *Grant) { g.TTL = MaxUserTTL + time.Second }, "expiry: want 1 to 86400 seconds"},
		{"too long for an admin", func(g *Grant) {
			g.Type, g.UserID, g.TTL = TypeAdmin, "root", MaxAdminTTL+time.Second
		}, "expiry: want 1 to 604800 seconds"},
		{"negative life", func(g *Grant) { g.TTL = -time.Second }, "expiry: want 1 to 86400 seconds"},
		{"two roles", func(g *Grant) { g.Privileges = "setrole:A,setrole:B" }, "privilege setrole: given twice"},
		{"role for a user", func(g *Grant) { g.Privileges = "setrole:A" }, "a role other than PLAYBACK_BASE_ROLE needs an admin session"},
		{"entitlement for a user", func(g *Grant) { g.Privileges = "disableentitlement" }, "disableentitlement needs an admin session"},
		{"configuration not a number", func(g *Grant) { g.Privileges = "geniegpcid:x" }, "privilege geniegpcid: want a positive integer"},
		{"actions not a number", func(g *Grant) { g.Privileges = "actionslimit:x" }, "privilege actionslimit: want a positive integer"},
		{"configuration zero", func(g *Grant) { g.Privileges = "geniegpcid:0" }, "privilege geniegpcid: want a positive integer"},
		{"no actions", func(g *Grant) { g.Privileges = "actionslimit:0" }, "privilege actionslimit: want a positive integer"},
		{"no agent", func(g *Grant) { g.Privileges = "agentid:" }, "privilege agentid: want a value"},
		{"empty entry", func(g *Grant) { g.Privileges = "agentid:x,," }, "privileges: empty entry"},
		{"white space", func(g *Grant) { g.Privileges = "agentid:x y" }, "privilege agentid: white space in its value"},
		{"white space in a key", func(g *Grant) { g.Privileges = "sview :*" }, `privileges: white space in "sview "`},
		{"user that is not text", func(g *Grant) { g.UserID = "ann\xff" }, "userId: want UTF-8"},
		{"privilege that is not text", func(g *Grant) { g.Privileges = "sessionid:\xff" }, "privileges: want UTF-8"},
		{"bad address", func(g *Grant) { g.Privileges = "iprestrict:home" }, "iprestrict: want an address or a prefix"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := good
			tt.change(&g)
			_, err := a.Start(t.Context(), g)
			var refusal *Refusal
			if !errors.As(err, &refusal) || err.Error() != tt.want {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestPrivilegesAreBounded(t *testing.T) {
	a, _, p := authority(t)
	start(t, a, p, Grant{Privileges: strings.Repeat("a:b,", 1000) + "c:d"})
	_, err := a.Start(t.Context(), Grant{PartnerID: p.ID, Secret: p.Secret, Privileges: strings.Repeat("a:b,", 3000) + "c:d"})
	if err == nil || !strings.Contains(err.Error(), "at most 8192 can be used") {
		t.Errorf("3,000 privileges: %v", err)
	}
}

func TestRestrictionsAreEnforced(t *testing.T) {
	a, _, p := authority(t)
	for _, tt := range []struct {
		name, privileges, addr, path string
		want                         error
	}{
		{"address", "iprestrict:10.0.0.1", "10.0.0.1", "/", nil},
		{"other address", "iprestrict:10.0.0.1", "10.0.0.2", "/", ErrRestricted},
		{"prefix", "iprestrict:10.0.0.0/8", "10.9.9.9", "/", nil},
		{"address in IPv6 clothes", "iprestrict:10.0.0.1", "::ffff:10.0.0.1", "/", nil},
		{"path", "urirestrict:/assistant/converse", "10.0.0.1", "/assistant/converse", nil},
		{"longer path", "urirestrict:/assistant/converse", "10.0.0.1", "/assistant/converse2", ErrRestricted},
		{"path prefix", "urirestrict:/assistant/*", "10.0.0.1", "/assistant/abort", nil},
		{"other path", "urirestrict:/assistant/*", "10.0.0.1", "/v1/thread/list", ErrRestricted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := start(t, a, p, Grant{Privileges: tt.privileges})
			_, err := a.Check(t.Context(), text, Use{netip.MustParseAddr(tt.addr), tt.path})
			expect.Error(t, err, tt.want, "check")
		})
	}
}

func TestActionsLimitIsSharedWithDerivedTokens(t *testing.T) {
	a, _, p := authority(t)
	text := start(t, a, p, Grant{Privileges: "agentid:x,actionslimit:2"})
	c := must.Get(a.Check(t.Context(), text, anywhere))(t)
	derived := must.Get(a.Bind(t.Context(), c, 7))(t)
	for i, want := range []error{nil, ErrRestricted, ErrRestricted} {
		if _, err := a.Check(t.Context(), derived, anywhere); !errors.Is(err, want) {
			t.Errorf("use %d: %v, want %v", i+2, err, want)
		}
	}
}

func TestExpiry(t *testing.T) {
	a, _, p := authority(t)
	text := must.Get(Mint(p.Secret, &Claims{PartnerID: p.ID, Expiry: time.Now().Add(-time.Second)}))(t)
	expect.Fail(a.Check(t.Context(), text, anywhere))(t, ErrExpired, "check")
}

func TestEndEndsTheGroup(t *testing.T) {
	a, _, p := authority(t)
	one := start(t, a, p, Grant{Privileges: "sessionid:g1"})
	two := start(t, a, p, Grant{Privileges: "sessionid:g1"})
	three := start(t, a, p, Grant{Privileges: "sessionid:g2"})
	for range 2 { // ending twice is harmless
		must.Do(t, a.End(t.Context(), one))
	}
	later := start(t, a, p, Grant{Privileges: "sessionid:g1"})
	for name, tt := range map[string]struct {
		text string
		want error
	}{"itself": {one, ErrEnded}, "its group": {two, ErrEnded}, "another group": {three, nil}, "minted later": {later, ErrEnded}} {
		expect.Fail(a.Check(t.Context(), tt.text, anywhere))(t, tt.want, "%s", name)
	}
	expect.Equal(t, a.End(t.Context(), "nonsense"), nil, "end of what is no token")
}

func TestTamperedTokenIsInvalid(t *testing.T) {
	a, _, p := authority(t)
	text := start(t, a, p, Grant{})
	raw := must.Get(base64.RawURLEncoding.DecodeString(text))(t)
	for i := range raw {
		broken := append([]byte(nil), raw...)
		broken[i] ^= 1
		if _, err := a.Check(t.Context(), base64.RawURLEncoding.EncodeToString(broken), anywhere); !errors.Is(err, ErrInvalid) {
			t.Fatalf("byte %d changed: %v, want %v", i, err, ErrInvalid)
		}
	}
}

func FuzzParse(f *testing.F) {
	text := must.Get(Mint("secret", &Claims{PartnerID: 7, Expiry: time.Now().Add(time.Hour), Privileges: "agentid:x"}))(f)
	for _, seed := range []string{"", text, text[:20], text + "=", "djJ8", "djJ8N3w", "djJ8LTF8", "%", strings.Repeat("A", maxText+1)} {
		f.Add(seed)
	}
	secretFor := func(_ context.Context, partnerID int64) (string, error) {
		if partnerID != 7 {
			return "", ErrInvalid
		}
		return "secret", nil
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(t.Context(), text, secretFor)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("error %v, want %v", err, ErrInvalid)
			}
			return
		}
		if c.PartnerID != 7 || c.AgentID() != "x" { // only what was minted above can be valid
			t.Fatalf("forged: %+v", c)
		}
	})
}

// FuzzPrivileges: what is minted can be read again and means the same; what can't
// be read is refused, not minted.
func FuzzPrivileges(f *testing.F) {
	for _, seed := range []string{
		"", "disableentitlement", "agentid:x,geniegpcid:7", "setrole:A,sview:*", "geniegpcid:-1", "actionslimit:0", "agentid:a,agentid:b",
		",", "iprestrict:10.0.0.0/8,urirestrict:/v1/*", "geniegpcid:99999999999999999999", "a:b:c", " agentid : x",
	} {
		f.Add(seed)
	}
	secretFor := func(context.Context, int64) (string, error) { return "secret", nil }
	f.Fuzz(func(t *testing.T, list string) {
		minted := Claims{PartnerID: 7, Expiry: time.Now().Add(time.Hour), Privileges: list}
		text, err := Mint("secret", &minted)
		if err != nil {
			return
		}
		read, err := Parse(t.Context(), text, secretFor)
		// JSON replaces what is no UTF-8, which no form can bring.
		if err != nil || utf8.ValidString(list) && read.grants != minted.grants {
			t.Errorf("%q: read %+v, minted %+v, %v", list, read.grants, minted.grants, err)
		}
	})
}
