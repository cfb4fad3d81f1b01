package voice

import (
	"container/list"
	"context"
	"sync"
)

// keptBytes is how much sound a [cache] keeps: half an hour of the built-in voice.
const keptBytes = 64 << 20

// cache is a voice that makes the sound of a text once, also when several sessions say it at
// the same time: openings, and answers to what many visitors ask. It keeps the sounds that
// were used last.
type cache struct {
	Voice
	limit int // bytes

	mu     sync.Mutex
	making map[said]*making
	kept   map[said]*list.Element // of keptSpeech
	latest list.List              // the one that was used last is in front
	size   int                    // bytes
}

// said is a text and how it is said.
type said struct {
	text string
	how  Manner
}

// making is a sound that is being made. It ends when no call waits for it any longer.
type making struct {
	waiting int
	cancel  context.CancelFunc
	done    chan struct{} // closed when the result is there
	speech  *Speech
	err     error
}

type keptSpeech struct {
	said
	*Speech
}

func cached(v Voice) *cache {
	return &cache{Voice: v, limit: keptBytes, making: map[said]*making{}, kept: map[said]*list.Element{}}
}

// Speak implements [Voice].
func (c *cache) Speak(ctx context.Context, text string, how Manner) (*Speech, error) {
	key := said{text, how}
	c.mu.Lock()
	if at, ok := c.kept[key]; ok {
		c.latest.MoveToFront(at)
		c.mu.Unlock()
		return at.Value.(keptSpeech).Speech, nil
	}
	m := c.making[key]
	if m == nil {
		m = c.start(ctx, key)
	}
	m.waiting++
	c.mu.Unlock()

	select {
	case <-m.done:
		return m.speech, m.err
	case <-ctx.Done():
	}
	c.mu.Lock()
	m.waiting--
	last := m.waiting == 0
	if last && c.making[key] == m {
		delete(c.making, key)
	}
	c.mu.Unlock()
	if last {
		m.cancel()
		<-m.done // so that nothing goes on after the calls
	}
	return nil, ctx.Err()
}

// start makes a sound.
func (c *cache) start(ctx context.Context, key said) *making {
	m := &making{done: make(chan struct{})}
	ctx, m.cancel = context.WithCancel(context.WithoutCancel(ctx))
	c.making[key] = m
	go func() {
		defer close(m.done)
		defer m.cancel()
		m.speech, m.err = c.Voice.Speak(ctx, key.text, key.how)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.making[key] == m {
			delete(c.making, key)
			if m.err == nil {
				c.keep(key, m.speech)
			}
		}
	}()
	return m
}

// keep keeps a sound, in place of those that were not used for the longest time.
func (c *cache) keep(key said, speech *Speech) {
	c.kept[key] = c.latest.PushFront(keptSpeech{key, speech})
	c.size += speech.bytes()
	for c.size > c.limit {
		oldest := c.latest.Remove(c.latest.Back()).(keptSpeech)
		delete(c.kept, oldest.said)
		c.size -= oldest.bytes()
	}
}

// bytes is about the memory that a sound takes.
func (s *Speech) bytes() int { return 2*cap(s.PCM) + 64*len(s.Chunks) + 256 }
