package management

import (
	"encoding/base64"
	"regexp"
	"strconv"
	"strings"
)

// KSInfo is what can be read from the text of a token without its key.
type KSInfo struct {
	// OK reports whether the text has the form of a token, with an account.
	OK bool `json:"ok"`
	// PartnerID is the account, 0 if it can't be read.
	PartnerID int64 `json:"partnerId,omitempty"`
	// Encrypted means that the privileges can't be read.
	Encrypted bool `json:"encrypted"`
	// Kind is what the privileges make of the token: [ConversationToken], [AgentToken] or
	// [AdminToken]; [UnknownToken] if they can't be read, or are none of these.
	Kind TokenKind `json:"kind"`
	// DisableEntitlement reports whether the token reaches what belongs to all users.
	DisableEntitlement bool `json:"disableEntitlement"`
}

// ksPrefix begins the text of every token; it is "v2|" in base64.
const ksPrefix = "djJ8"

var (
	ksPartner   = regexp.MustCompile(`^v2\|(\d+)\|`)
	ksReadable  = regexp.MustCompile(`^[\x20-\x7e]+$`)
	ksIntellect = regexp.MustCompile(`(?i)\b` + configKey + `\b`)
	ksAgent     = regexp.MustCompile(`(?i)\b` + agentKey + `\b`)
)

// InspectKS reads what it can from the text of a token (management-api.md, F.2, inspectKs). It
// sends nothing, and does not check whether the token is valid.
func InspectKS(ks string) KSInfo {
	if !strings.HasPrefix(ks, ksPrefix) {
		return KSInfo{}
	}
	text := strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(ks, "="))
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return KSInfo{}
	}
	plain := string(data)
	m := ksPartner.FindStringSubmatch(plain)
	if m == nil {
		return KSInfo{Encrypted: true}
	}
	partner, err := strconv.ParseInt(m[1], 10, 64)
	info := KSInfo{OK: err == nil, PartnerID: partner, DisableEntitlement: noEntitlementWord.MatchString(plain)}
	switch {
	case ksIntellect.MatchString(plain):
		info.Kind = ConversationToken
	case ksAgent.MatchString(plain):
		info.Kind = AgentToken
	case info.DisableEntitlement:
		info.Kind = AdminToken
	default:
		info.Encrypted = !ksReadable.MatchString(plain[len(m[0]):])
	}
	return info
}
