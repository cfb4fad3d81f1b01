package socketio

import "context"

// Counterpart takes the place of a server, without a network. It gets each text
// message of the client, and first an empty one when the connection is opened, and
// returns the messages that come back. It may wait, until the end of ctx.
type Counterpart func(ctx context.Context, sent string) (answers []string)

// dial is a dialFunc.
func (c Counterpart) dial(context.Context, string, *ClientOptions) (transport, error) {
	near, far := pipe(0)
	go c.serve(far)
	return near, nil
}

func (c Counterpart) serve(far *pipeEnd) {
	ctx, end := context.WithCancel(context.Background())
	go func() {
		<-far.down
		end()
	}()
	var sent message // empty when the connection is opened
	for {
		for _, text := range c(ctx, string(sent.data)) {
			if far.Write(message{data: []byte(text)}) != nil {
				return
			}
		}
		var err error
		if sent, err = far.Read(); err != nil {
			return
		}
	}
}
