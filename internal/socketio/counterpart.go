package socketio

import (
	"context"
	"io"
)

// Counterpart takes the place of a server, without a network. It gets each text
// message of the client, and first an empty one when the connection is opened, and
// returns the messages that come back. It may wait, until the end of ctx.
type Counterpart func(ctx context.Context, sent string) (answers []string)

// dial is a dialFunc.
func (c Counterpart) dial(context.Context, string, *ClientOptions) (transport, error) {
	ctx, end := context.WithCancel(context.Background())
	t := &counterpart{ctx: ctx, end: end, sent: make(chan string), answers: make(chan string)}
	go t.run(c)
	return t, nil
}

// counterpart is the connection with a [Counterpart].
type counterpart struct {
	ctx           context.Context
	end           context.CancelFunc
	sent, answers chan string
}

func (t *counterpart) run(answer Counterpart) {
	sent := ""
	for {
		for _, text := range answer(t.ctx, sent) {
			select {
			case t.answers <- text:
			case <-t.ctx.Done():
				return
			}
		}
		select {
		case sent = <-t.sent:
		case <-t.ctx.Done():
			return
		}
	}
}

func (t *counterpart) Read() (message, error) {
	select {
	case text := <-t.answers:
		return message{data: []byte(text)}, nil
	case <-t.ctx.Done():
		return message{}, io.EOF
	}
}

func (t *counterpart) Write(m message) error {
	select {
	case t.sent <- string(m.data):
		return nil
	case <-t.ctx.Done():
		return io.ErrClosedPipe
	}
}

func (t *counterpart) Close() error {
	t.end()
	return nil
}

func (t *counterpart) Abort() { t.end() }
