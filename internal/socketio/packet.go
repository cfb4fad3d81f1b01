package socketio

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/jsonbounds"
)

// Engine.IO packet types, the first character of a text message
// (wire-protocol §1.9.1).
const (
	engineOpen    = '0'
	engineClose   = '1'
	enginePing    = '2'
	enginePong    = '3'
	engineMessage = '4'
	engineUpgrade = '5'
	engineNoop    = '6'
)

// packetType is a Socket.IO packet type (wire-protocol §1.9.2). The binary
// types 5 and 6 exist on the wire only: in a packet they are an event or an
// acknowledgement with attachments.
type packetType byte

const (
	typeConnect packetType = iota
	typeDisconnect
	typeEvent
	typeAck
	typeConnectError
	typeBinaryEvent
	typeBinaryAck
)

// rootNamespace is the only namespace that this package serves.
const rootNamespace = "/"

const (
	// maxAttachments is the official parser's own limit.
	maxAttachments = 10
	// maxDepth bounds the nesting of JSON, so that a message of brackets can't
	// cost a deep stack in whoever decodes it.
	maxDepth = 64
	// maxArgs bounds the arguments of one event; each costs a slice header.
	maxArgs = 256
	// maxNamespace bounds the name that is repeated in a refusal.
	maxNamespace = 256
	// maxAckDigits keeps ids below 2^53, the largest a JavaScript peer counts to.
	maxAckDigits = 15
)

// reservedNames can't be events: they are notifications of the official
// libraries, which refuse them in both directions.
var reservedNames = []string{
	"connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener",
}

// errProtocol is wrapped by every complaint about what a peer has sent.
var errProtocol = errors.New("socketio: protocol violation")

func violation(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errProtocol, fmt.Sprintf(format, args...))
}

// packet is one Socket.IO packet.
type packet struct {
	typ       packetType
	namespace string
	id        int64 // acknowledgement id, or noID
	name      string
	args      Args
	// data is the payload of connect and connectError, which are no arrays.
	data json.RawMessage
	// missing counts attachments that have still to arrive.
	missing int
}

// noID marks a packet that neither asks for an acknowledgement nor is one.
const noID = -1

// decodePacket reads the text of a Socket.IO packet, without the Engine.IO
// digit. It refuses what the official parser refuses, and more: numbers in
// other than plain decimal digits, text that is no UTF-8, nesting and argument
// counts beyond the limits above.
func decodePacket(text []byte) (packet, error) {
	p := packet{namespace: rootNamespace, id: noID}
	if len(text) == 0 {
		return p, violation("empty packet")
	}
	if !utf8.Valid(text) {
		return p, violation("text is not UTF-8")
	}
	p.typ = packetType(text[0] - '0')
	if p.typ > typeBinaryAck {
		return p, violation("unknown packet type %q", text[0])
	}
	rest := text[1:]

	if p.typ == typeBinaryEvent || p.typ == typeBinaryAck {
		n := countDigits(rest)
		if n == 0 || n > len("10") || n == len(rest) || rest[n] != '-' {
			return p, violation("illegal attachment count")
		}
		p.missing, _ = strconv.Atoi(string(rest[:n]))
		if p.missing < 1 || p.missing > maxAttachments {
			return p, violation("%d attachments, allowed are 1 to %d", p.missing, maxAttachments)
		}
		p.typ -= typeBinaryEvent - typeEvent
		rest = rest[n+1:]
	}

	if len(rest) > 0 && rest[0] == '/' {
		end := slices.Index(rest, ',')
		if end < 0 {
			end = len(rest)
		}
		if end > maxNamespace {
			return p, violation("namespace of %d bytes", end)
		}
		p.namespace = string(rest[:end])
		rest = rest[min(end+1, len(rest)):]
	}

	if n := countDigits(rest); n > 0 {
		if n > maxAckDigits {
			return p, violation("acknowledgement id of %d digits", n)
		}
		p.id, _ = strconv.ParseInt(string(rest[:n]), 10, 64)
		rest = rest[n:]
	}
	return p, p.decodePayload(rest)
}

// decodePayload checks what each packet type may carry.
func (p *packet) decodePayload(text []byte) error {
	switch p.typ {
	case typeDisconnect:
		if len(text) > 0 || p.id != noID {
			return violation("disconnect with a payload")
		}
		return nil
	case typeConnect, typeConnectError:
		if p.id != noID {
			return violation("acknowledgement id where none belongs")
		}
		if len(text) == 0 && p.typ == typeConnect {
			return nil
		}
		if err := checkBounds(text); err != nil {
			return err
		}
		if !json.Valid(text) {
			return violation("payload is no JSON")
		}
		switch first := firstByte(text); {
		case first == '{', first == '"' && p.typ == typeConnectError:
			p.data = slices.Clone(text)
			return nil
		}
		return violation("payload is no object")
	default:
		if p.typ == typeAck && p.id == noID {
			return violation("acknowledgement without id")
		}
		return p.decodeArgs(text)
	}
}

// decodeArgs splits the array of an event or acknowledgement into raw values.
func (p *packet) decodeArgs(text []byte) error {
	if firstByte(text) != '[' {
		return violation("payload is no array")
	}
	if err := checkBounds(text); err != nil {
		return err
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return violation("payload: %v", err)
	}
	if p.typ == typeEvent {
		if len(raw) == 0 {
			return violation("event without a name")
		}
		switch c := raw[0][0]; {
		case c == '"':
			if err := json.Unmarshal(raw[0], &p.name); err != nil {
				return violation("event name: %v", err)
			}
		case c == '-' || c >= '0' && c <= '9': // JavaScript may name an event by a number
			p.name = string(raw[0])
		default:
			return violation("event name is no string")
		}
		if slices.Contains(reservedNames, p.name) {
			return violation("reserved event name %q", p.name)
		}
		raw = raw[1:]
	}
	p.args.raw = raw
	return nil
}

// attach adds one binary message to a packet that waits for it. With the last
// one, every placeholder is checked to point at an attachment.
func (p *packet) attach(data []byte) error {
	if p.missing == 0 {
		return violation("binary message that no packet announced")
	}
	p.args.attachments = append(p.args.attachments, data)
	p.missing--
	if p.missing > 0 {
		return nil
	}
	for _, raw := range p.args.raw {
		if _, err := placeholders(raw, len(p.args.attachments)); err != nil {
			return err
		}
	}
	return nil
}

// appendText appends the packet as text, without the Engine.IO digit. Extra
// values are appended to the arguments of an event.
func (p *packet) appendText(dst []byte, extra ...json.RawMessage) []byte {
	typ := p.typ
	n := len(p.args.attachments)
	if n > 0 {
		typ += typeBinaryEvent - typeEvent
	}
	dst = append(dst, '0'+byte(typ))
	if n > 0 {
		dst = strconv.AppendInt(dst, int64(n), 10)
		dst = append(dst, '-')
	}
	if p.namespace != "" && p.namespace != rootNamespace {
		dst = append(dst, p.namespace...)
		dst = append(dst, ',')
	}
	if p.id != noID {
		dst = strconv.AppendInt(dst, p.id, 10)
	}
	if p.typ != typeEvent && p.typ != typeAck {
		return append(dst, p.data...)
	}
	dst = append(dst, '[')
	values := p.args.raw
	if p.typ == typeEvent {
		dst = append(dst, quote(p.name)...)
		if len(values)+len(extra) > 0 {
			dst = append(dst, ',')
		}
	}
	for i, raw := range slices.Concat(values, extra) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, raw...)
	}
	return append(dst, ']')
}

// quote returns s as a JSON string.
func quote(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always marshals
	}
	return b
}

func countDigits(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}

// firstByte returns the first byte of a JSON value, or 0.
func firstByte(b []byte) byte {
	for _, c := range b {
		switch c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// checkBounds refuses JSON that is nested too deeply or, as an array, too long.
func checkBounds(text []byte) error {
	if err := jsonbounds.Check(text, maxDepth, maxArgs+1); err != nil { // the event's name is not an argument
		return violation("%v", err)
	}
	return nil
}
