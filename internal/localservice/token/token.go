package token

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

var (
	// ErrInvalid means that the text is not a token of a known partner, or that
	// it was tampered with. It does not reveal which, and never quotes the text.
	ErrInvalid = errors.New("invalid token")

	// ErrExpired means that a token has expired.
	ErrExpired = errors.New("token expired")

	// ErrEnded means that a token, or its session group, was ended.
	ErrEnded = errors.New("token ended")

	// ErrRestricted means that a restriction of the token forbids this use.
	ErrRestricted = errors.New("token restricted")

	errNotPositive = errors.New("want a positive integer")
	errNoValue     = errors.New("want a value")
)

// maxText bounds the text of a token before anything is decoded.
const maxText = 8192

// keyInfo separates this key from anything else that a secret may be used for.
const keyInfo = "localservice session token v2"

// encoding is base64url without padding, so that a token needs no escaping in a
// form, a query or a header.
var encoding = base64.RawURLEncoding.Strict()

// payload is the encrypted half of a token.
type payload struct {
	ID         string `json:"i"`
	Type       int    `json:"t"`
	UserID     string `json:"u,omitempty"`
	Expiry     int64  `json:"e"` // seconds since 1970
	Privileges string `json:"p,omitempty"`
}

// Mint returns a token with the claims c; secret is that of the partner. It sets c.ID
// if that is empty.
func Mint(secret string, c *Claims) (string, error) {
	var err error
	if c.grants, err = parsePrivileges(c.Privileges); err != nil {
		return "", err
	}
	c.ID = cmp.Or(c.ID, rand.Text())
	c.Expiry = c.Expiry.Truncate(time.Second)
	plain, err := json.Marshal(payload{c.ID, c.Type, c.UserID, c.Expiry.Unix(), c.Privileges})
	if err != nil {
		return "", fmt.Errorf("mint token: %w", err)
	}
	seal, err := sealer(secret)
	if err != nil {
		return "", fmt.Errorf("mint token: %w", err)
	}
	head := []byte("v2|" + strconv.FormatInt(c.PartnerID, 10) + "|")
	// The head is authenticated too: a token can't be moved to another partner.
	text := encoding.EncodeToString(append(head, seal.Seal(nil, nil, plain, head)...))
	if len(text) > maxText {
		return "", fmt.Errorf("mint token: %d bytes, at most %d can be used", len(text), maxText)
	}
	return text, nil
}

// Parse decrypts text. It does not check the expiry; [Authority.Check] does. An error
// of secretFor, which is ErrInvalid for an unknown partner, is returned as it is.
func Parse(ctx context.Context, text string, secretFor func(ctx context.Context, partnerID int64) (string, error)) (Claims, error) {
	if len(text) > maxText {
		return Claims{}, ErrInvalid
	}
	raw, err := encoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return Claims{}, ErrInvalid
	}
	version, rest, _ := strings.Cut(string(raw), "|")
	digits, sealed, ok := strings.Cut(rest, "|")
	partnerID, err := strconv.ParseInt(digits, 10, 64)
	if version != "v2" || !ok || err != nil {
		return Claims{}, ErrInvalid
	}
	secret, err := secretFor(ctx, partnerID)
	if err != nil {
		return Claims{}, err
	}
	seal, err := sealer(secret)
	if err != nil {
		return Claims{}, err
	}
	plain, err := seal.Open(nil, nil, []byte(sealed), raw[:len(raw)-len(sealed)])
	if err != nil {
		return Claims{}, ErrInvalid
	}
	var p payload
	if err := json.Unmarshal(plain, &p); err != nil {
		return Claims{}, ErrInvalid
	}
	g, err := parsePrivileges(p.Privileges)
	if err != nil {
		return Claims{}, ErrInvalid
	}
	return Claims{
		PartnerID: partnerID, Type: p.Type, UserID: p.UserID, Expiry: time.Unix(p.Expiry, 0).UTC(),
		Privileges: p.Privileges, ID: p.ID, grants: g,
	}, nil
}

// sealer returns the AEAD for a secret. It puts a random nonce in front of the
// ciphertext, and compares tags in constant time.
func sealer(secret string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, keyInfo, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
