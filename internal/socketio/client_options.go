package socketio

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"
)

// Defaults of [ClientOptions] (wire-protocol §1.6 where it names them).
const (
	DefaultPath              = "/socket.io"
	DefaultConnectTimeout    = 20 * time.Second
	DefaultReconnectDelay    = 250 * time.Millisecond
	DefaultReconnectDelayMax = 2 * time.Second
	DefaultReconnectFactor   = 2.0
	DefaultReconnectJitter   = 0.5
	DefaultReconnectAttempts = 5
	// DefaultMaxMessage is generous, because the server is one that the client
	// has chosen.
	DefaultMaxMessage = 16 << 20 // bytes
	DefaultSendBuffer = 16 << 20 // bytes
)

// ClientOptions are the options of [NewClient]. The zero value of each field
// means its default.
type ClientOptions struct {
	// Path is where the server is mounted; default [DefaultPath].
	Path string
	// Query is added to the URL, sorted by name, before EIO and transport.
	Query map[string]string
	// Auth is sent with each handshake; it must marshal to a JSON object. Nil
	// sends none. [Client.SetAuth] replaces it.
	Auth any
	// Header is sent with the WebSocket handshake, natively only: a page can't.
	Header map[string][]string

	// ConnectTimeout bounds one attempt, from dialling to the server's answer to
	// the handshake; default [DefaultConnectTimeout].
	ConnectTimeout time.Duration

	// NoReconnect ends the client with its first failure.
	NoReconnect bool
	// ReconnectDelay is waited before the first attempt to connect again. Each
	// further wait is ReconnectFactor times longer, up to ReconnectDelayMax.
	ReconnectDelay    time.Duration
	ReconnectDelayMax time.Duration
	ReconnectFactor   float64
	// ReconnectJitter spreads each wait by up to this part of it in both
	// directions, so that clients don't come back all at once; negative for none.
	ReconnectJitter float64
	// ReconnectAttempts is how many attempts may fail in a row; negative for no
	// limit.
	ReconnectAttempts int

	// NoRecovery makes the client ignore the server's offer to recover its state
	// after a drop (wire-protocol §1.9.5).
	NoRecovery bool

	// MaxMessage bounds one incoming WebSocket message in bytes; default
	// [DefaultMaxMessage]. A larger one ends the client.
	MaxMessage int64
	// SendBuffer bounds the bytes that wait to be sent, while disconnected and
	// while connected each; default [DefaultSendBuffer]. Beyond it, Emit returns
	// [ErrBufferFull]. What the system or the browser holds comes on top, 1 MiB
	// and one message in a page.
	SendBuffer int

	// Tap, when set, sees every event in both directions.
	Tap Tap

	// Tests stand in for the socket and for chance.
	dial   dialFunc
	random func() float64
}

func (o ClientOptions) withDefaults() ClientOptions {
	setDefault(&o.Path, DefaultPath)
	setDefault(&o.ConnectTimeout, DefaultConnectTimeout)
	setDefault(&o.ReconnectDelay, DefaultReconnectDelay)
	setDefault(&o.ReconnectDelayMax, DefaultReconnectDelayMax)
	setDefault(&o.ReconnectFactor, DefaultReconnectFactor)
	setDefault(&o.ReconnectJitter, DefaultReconnectJitter)
	setDefault(&o.ReconnectAttempts, DefaultReconnectAttempts)
	setDefault(&o.MaxMessage, DefaultMaxMessage)
	setDefault(&o.SendBuffer, DefaultSendBuffer)
	if o.dial == nil {
		o.dial = dialSocket
	}
	if o.random == nil {
		o.random = rand.Float64
	}
	return o
}

func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// backoff returns the wait before attempt n, counted from 0.
func (o *ClientOptions) backoff(n int) time.Duration {
	wait, limit := float64(o.ReconnectDelay), float64(o.ReconnectDelayMax)
	for range n {
		if wait >= limit {
			break
		}
		wait *= o.ReconnectFactor
	}
	if o.ReconnectJitter > 0 {
		wait *= 1 + o.ReconnectJitter*(2*o.random()-1)
	}
	return time.Duration(min(wait, limit))
}

// socketURL returns the address of the WebSocket (wire-protocol §1.6, §1.7).
func socketURL(base string, o *ClientOptions) (string, error) {
	u, err := url.Parse(strings.TrimSuffix(base, "/"))
	if err != nil {
		// The text of a url.Error repeats the address, which may carry a secret.
		var bad *url.Error
		if errors.As(err, &bad) {
			err = bad.Err
		}
		return "", fmt.Errorf("socketio: parse address: %w", err)
	}
	switch u.Scheme {
	case "http", "ws":
		u.Scheme = "ws"
	case "https", "wss":
		u.Scheme = "wss"
	default:
		return "", fmt.Errorf("socketio: address with scheme %q, want http, https, ws or wss", u.Scheme)
	}
	if u.Host == "" {
		return "", errors.New("socketio: address without a host")
	}
	// As in the official client, a path in the address would name a namespace.
	if u.Path != "" {
		return "", errors.New("socketio: address with a path; only the default namespace is supported")
	}
	query := url.Values{}
	for name, value := range o.Query {
		query.Set(name, value)
	}
	query.Del("EIO")
	query.Del("transport")
	u.RawQuery = strings.TrimPrefix(query.Encode()+"&EIO=4&transport=websocket", "&")
	u.Fragment = ""
	u.Path = strings.TrimSuffix(o.Path, "/") + "/"
	return u.String(), nil
}

// encodeAuth marshals what goes into the handshake.
func encodeAuth(auth any) (map[string]json.RawMessage, error) {
	raw, err := json.Marshal(auth)
	if err != nil {
		return nil, fmt.Errorf("socketio: encode auth: %w", err)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, errors.New("socketio: auth is no JSON object") // err could quote it
	}
	return object, nil
}
