package socketio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/jsonbounds"
)

// Engine.IO packet types, the first character of a text message
// (protocol §1.9.1).
const (
	engineOpen    = '0'
	engineClose   = '1'
	enginePing    = '2'
	enginePong    = '3'
	engineMessage = '4'
	engineUpgrade = '5'
	engineNoop    = '6'
)

// packetType is a Socket.IO packet type (protocol §1.9.2). The binary
// types 5 and 6 exist on the wire only: a packet struct represents them as an event or
// an acknowledgement with attachments.
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
	// maxDepth bounds the nesting of JSON, and with it the stack that decoding
	// needs.
	maxDepth = 64
	// maxArgs bounds the arguments of one event; each needs a slice header.
	maxArgs = 256
	// maxBinaryText bounds the text of a packet with attachments, in bytes. The text is
	// decoded completely to find the placeholders, which may take fifty times its size.
	maxBinaryText = 64 << 10
	// maxNamespace bounds a namespace, which is repeated in the refusal, in bytes.
	maxNamespace = 256
	// maxAckDigits keeps ids below 2^53, the largest integer that JavaScript counts to.
	maxAckDigits = 15
)

// reservedNames can't be events: they are notifications of the official
// libraries, which refuse them in both directions.
var reservedNames = []string{
	"connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener",
}

// errProtocol is wrapped by every error about a message that violates the protocol
// or a limit.
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
	// attachments are the binary messages that follow the text.
	attachments [][]byte
	// data is the payload of connect and connectError, which are objects.
	data json.RawMessage
	// missing counts attachments that have still to arrive.
	missing int
}

// noID marks a packet that neither asks for an acknowledgement nor is one.
const noID = -1

// decodePacket reads the text of a Socket.IO packet, without the Engine.IO
// digit. It refuses everything that the official parser refuses, and also numbers
// that are not plain decimal digits, text that is not UTF-8, and nesting and argument
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
		if len(text) > maxBinaryText {
			return p, violation("%d bytes of text with attachments, allowed are %d", len(text), maxBinaryText)
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
	if err := jsonbounds.Check(text, maxDepth, maxArgs+1); err != nil { // the event's name is not an argument
		return violation("payload: %v", err)
	}
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
		if !json.Valid(text) {
			return violation("payload is not JSON")
		}
		p.data = bytes.TrimLeft(slices.Clone(text), " \t\r\n")
		if first := p.data[0]; first != '{' && (first != '"' || p.typ != typeConnectError) {
			return violation("payload is not an object")
		}
		return nil
	default:
		if p.typ == typeAck && p.id == noID {
			return violation("acknowledgement without id")
		}
		return p.decodeArgs(text)
	}
}

// decodeArgs splits the array of an event or acknowledgement into raw values.
func (p *packet) decodeArgs(text []byte) error {
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return violation("payload: %v", err)
	}
	if raw == nil {
		return violation("payload is not an array")
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
			return violation("event name is not a string")
		}
		if slices.Contains(reservedNames, p.name) {
			return violation("reserved event name %q", p.name)
		}
		raw = raw[1:]
	}
	p.args = raw
	return nil
}

// attach adds one binary message to a packet that waits for it. The last one
// completes the arguments.
func (p *packet) attach(data []byte) error {
	p.attachments = append(p.attachments, data)
	p.missing--
	if p.missing > 0 {
		return nil
	}
	attachments := p.attachments
	p.attachments = nil
	return inlineAttachments(p.args, attachments)
}

// encode returns the packet as an Engine.IO message: one text, and its
// attachments.
func (p *packet) encode() []message {
	text := []byte{engineMessage, '0' + byte(p.typ)}
	if n := len(p.attachments); n > 0 {
		text[1] += byte(typeBinaryEvent - typeEvent)
		text = fmt.Appendf(text, "%d-", n)
	}
	if p.namespace != "" && p.namespace != rootNamespace {
		text = append(append(text, p.namespace...), ',')
	}
	if p.id != noID {
		text = strconv.AppendInt(text, p.id, 10)
	}
	switch p.typ {
	case typeEvent:
		text = appendArray(text, append(Args{marshal(p.name)}, p.args...))
	case typeAck:
		text = appendArray(text, p.args)
	default:
		text = append(text, p.data...)
	}
	messages := []message{{data: text}}
	for _, data := range p.attachments {
		messages = append(messages, message{binary: true, data: data})
	}
	return messages
}

func appendArray(dst []byte, values Args) []byte {
	dst = append(dst, '[')
	for i, raw := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, raw...)
	}
	return append(dst, ']')
}

// marshal encodes a value that can always be encoded.
func marshal(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

func countDigits(b []byte) int { return len(b) - len(bytes.TrimLeft(b, "0123456789")) }

// openPacket is the payload of the Engine.IO open packet; times are
// milliseconds.
type openPacket struct {
	SID          string   `json:"sid"`
	Upgrades     []string `json:"upgrades"`
	PingInterval int64    `json:"pingInterval"`
	PingTimeout  int64    `json:"pingTimeout"`
	MaxPayload   int64    `json:"maxPayload"`
}

// maxHeartbeat bounds the times that a server may set, so that their sum fits any timer.
const maxHeartbeat = 24 * time.Hour

func decodeOpen(data []byte) (openPacket, error) {
	var open openPacket
	if err := json.Unmarshal(data, &open); err != nil {
		return open, violation("open packet: %v", err)
	}
	for _, ms := range []int64{open.PingInterval, open.PingTimeout} {
		if ms <= 0 || ms > maxHeartbeat.Milliseconds() {
			return open, violation("open packet: heartbeat of %d ms", ms)
		}
	}
	return open, nil
}

// enginePacket returns an Engine.IO packet as a text message.
func enginePacket(typ byte, data []byte) message {
	return message{data: append([]byte{typ}, data...)}
}

// received is an Engine.IO packet that was received, or the error that ended reading.
type received struct {
	engine byte // engineOpen …
	data   []byte
	packet packet // engineMessage
	err    error
}

// decoder decodes messages to packets. pending is the packet that waits for its
// attachments.
type decoder struct {
	pending *packet
}

// decode reads one message. The result has no engine type while attachments are
// missing. Heartbeats may arrive between a packet and its attachments; other text
// messages may not.
func (d *decoder) decode(m message) (received, error) {
	if m.binary {
		if d.pending == nil {
			return received{}, violation("binary message that no packet announced")
		}
		if err := d.pending.attach(m.data); err != nil {
			return received{}, err
		}
		return d.complete(*d.pending), nil
	}
	if len(m.data) == 0 {
		return received{}, violation("empty message")
	}
	in := received{engine: m.data[0], data: m.data[1:]}
	if in.engine < engineOpen || in.engine > engineNoop {
		return received{}, violation("unknown Engine.IO packet type %q", in.engine)
	}
	if in.engine != engineMessage {
		return in, nil
	}
	if d.pending != nil {
		return received{}, violation("text where an attachment belongs")
	}
	p, err := decodePacket(in.data)
	if err != nil {
		return received{}, err
	}
	return d.complete(p), nil
}

// complete returns p, or keeps it until its attachments have arrived.
func (d *decoder) complete(p packet) received {
	if p.missing > 0 {
		d.pending = &p
		return received{}
	}
	d.pending = nil
	return received{engine: engineMessage, packet: p}
}
