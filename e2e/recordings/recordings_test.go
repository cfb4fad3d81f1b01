// Package recordings has whole conversations that runtime/record writes and runtime/replay
// reads and repeats, and plays their movies in Chromium. It tests what the folder of a
// recording promises; the parts of the two packages are tested there.
package recordings

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/at-wat/ebml-go"
	"github.com/at-wat/ebml-go/webm"
	"github.com/pion/webrtc/v4"

	"github.com/agentruntime/agentruntime/e2e/browsertest"
	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/chromium"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/av"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/record"
	"github.com/agentruntime/agentruntime/runtime/replay"
)

// voiceRate is the sample rate at which the voice is decoded, in Hz.
const voiceRate = 16_000

const script = `
hear: [What is the password?]
rules:
  - when: {contains: password}
    steps:
      - say: The password is swordfish.
  - when: {contains: note}
    steps:
      - tool: {name: save_note, args: {note: call back}}
      - say: It is noted.
  - when: {contains: story}
    steps:
      - say: Once upon a time there was a very long story about a very long road. It went on and on, over the hills and far away. And at its end there was a house, and in the house there was a cat.
`

// rounds is how often the visitor has the note written, breaks the connection and interrupts the
// story, which is told whole afterwards: a conversation of 3 minutes has 7.
var rounds = flag.Int("rounds", 1, "how long the conversation is: about 25 s for each round")

// patience is how long an event may take on a machine that is busy.
const patience = 30 * time.Second

// listener has the names of a session's events, in their order.
type listener chan string

// await waits for the event with that name after the last one that it awaited.
func (l listener) await(t *testing.T, name string) {
	t.Helper()
	limit := time.After(patience)
	for {
		select {
		case next := <-l:
			if next == name {
				return
			}
		case <-limit:
			t.Fatalf("no %s", name)
		}
	}
}

func TestARecordedConversation(t *testing.T) {
	for _, codec := range []string{"H264", "VP8"} {
		t.Run(codec, func(t *testing.T) {
			t.Parallel()
			recordedConversation(t, codec)
		})
	}
}

// answerTool makes the session answer the calls of save_note.
func answerTool(t *testing.T, session *avatar.Session) {
	t.Helper()
	must.Get(session.OnToolCall("save_note", func(ctx context.Context, call event.ToolCall) (any, error) {
		response := map[string]any{"status": "saved"}
		_, err := session.RespondToTool(ctx, call.ToolMetadata.ID, response)
		return response, err
	}, nil))(t)
}

// visit returns the access to an agent of a new service with that script, and a function that breaks a connection
// of its session.
func visit(t *testing.T, script string) (access *appinit.Result, breakIt func(how string)) {
	t.Helper()
	service := servicetest.Start(t, localservice.Options{Script: []byte(script)})
	info := service.Info()
	agent, _ := info.Agent("tools")
	access = must.Get(appinit.Init(t.Context(), appinit.Options{
		WidgetID: agent.WidgetID,
		Config:   appinit.Config{AgenticURL: &info.AgenticURL, GenieURL: &info.GenieURL, OVPURL: &info.OVPURL},
	}))(t)
	return access, func(how string) {
		t.Helper()
		pagetest.Control(t.Context(), t, info, "/sessions/newest/"+how, nil)
	}
}

// converse has a recorded conversation again, with a service that plays script, and returns the
// differences.
func converse(t *testing.T, recording *replay.Recording, script string) []replay.Difference {
	t.Helper()
	access, _ := visit(t, script)
	o := avatar.OptionsFor(access)
	o.AllowPrivateHosts, o.MicStart = true, avatar.MicDeferred
	run := replay.NewRun(recording)
	o.OnEvent = run.Event
	session := must.Get(avatar.New(o))(t)
	defer session.Close()
	answerTool(t, session)
	must.Do(t, session.Connect(t.Context()))
	got := must.Get(run.Converse(t.Context(), func(ctx context.Context, text string) error {
		_, err := session.Speak(ctx, text)
		return err
	}))(t)
	return replay.Diff(recording, got)
}

func recordedConversation(t *testing.T, codec string) {
	access, breakIt := visit(t, script)
	dir := filepath.Join(t.TempDir(), "recording")
	frames := map[bool]int{} // by key
	rec := must.Get(record.New(dir, record.Options{OnFrame: func(f av.Frame) {
		if f.Codec == "video/"+codec {
			frames[f.Key]++
		}
	}}))(t)
	l := make(listener, 1<<16)
	var mic av.Microphone
	o := avatar.OptionsFor(access)
	o.AllowPrivateHosts = true
	o.VideoCodec = codec
	o.Platform.OpenMicrophone = mic.Open
	o.OnEvent = func(e event.Event) { l <- e.Name() }
	o.RequestVars = map[string]any{"door_code": "tiger-4711"}
	must.Do(t, rec.Attach(&o))
	session := must.Get(avatar.New(o))(t)
	must.Do(t, session.Connect(t.Context()))
	l.await(t, "avatarStopTalking") // the opening
	question := must.Get(av.FromFile("../testdata/speech.wav"))(t)
	must.Do(t, mic.Say(t.Context(), question))
	l.await(t, "userStartedTalking")
	l.await(t, "avatarStopTalking")
	answerTool(t, session)
	speak := func(text string) {
		t.Helper()
		if sent, err := session.Speak(t.Context(), text); err != nil || !sent {
			t.Fatal(sent, err)
		}
	}
	for range *rounds {
		speak("Write a note")
		l.await(t, "toolCall")
		l.await(t, "avatarStopTalking")
		breakIt("drop")
		l.await(t, "reconnected")
		breakIt("kill-media")
		l.await(t, "mediaRecovered")
		speak("Tell me a story")
		l.await(t, "speechChunk")
		l.await(t, "speechChunk")
		speak("What is the password?") // interrupts
		l.await(t, "interrupted")
		l.await(t, "avatarStartTalking")
		l.await(t, "avatarStopTalking")
		// The picture has to last for 10 s: the third of losses in a row rebuilds the session (protocol §8.5).
		speak("Tell me a story")
		l.await(t, "avatarStartTalking")
		l.await(t, "avatarStopTalking")
	}
	session.Close()
	must.Do(t, rec.Close())

	events := must.Get(os.ReadFile(filepath.Join(dir, replay.EventsFile)))(t)
	for _, secret := range []string{access.KS, "tiger-4711"} {
		if strings.Contains(string(events), secret) {
			t.Errorf("the events contain %q", secret[:5])
		}
	}
	recording := must.Get(replay.Open(os.DirFS(dir)))(t)
	checkTurns(t, dir, recording)
	name := map[string]string{"H264": "agent.mkv", "VP8": "agent.webm"}[codec]
	checkMovie(t, dir, name, recording)
	checkMicrophone(t, filepath.Join(dir, replay.MicrophoneFile), recording)
	captions, _ := os.ReadFile(filepath.Join(dir, replay.CaptionsFile))
	for _, want := range []string{"WEBVTT\n", "<v Agent>The password\n", "<v Visitor>Tell me a story\n", " --> "} {
		if !strings.Contains(string(captions), want) {
			t.Errorf("no %q in the captions:\n%s", want, captions)
		}
	}
	checkPlayback(t, dir, name)
	if codec == "VP8" {
		checkRegression(t, recording)
	}
	if frames[true] == 0 || frames[false] == 0 {
		t.Errorf("OnFrame got %v", frames)
	}
}

// checkRegression has the conversation again, as a regression test does: with the recorded answers there is no difference, and
// one that has changed is named.
func checkRegression(t *testing.T, recording *replay.Recording) {
	t.Helper()
	answers := must.Get(recording.Script())(t)
	if d := converse(t, recording, string(answers)); d != nil {
		t.Errorf("the same answers: %v", d)
	}
	changed := strings.ReplaceAll(string(answers), "It is noted.", "It is written.")
	d := converse(t, recording, changed)
	want := slices.Repeat([]replay.Difference{{After: "Write a note", Want: "agent: It is noted.", Got: "agent: It is written."}}, *rounds)
	expect.List(t, d, want, "another answer")
}

func checkTurns(t *testing.T, dir string, recording *replay.Recording) {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(dir, replay.TurnsFile)))(t)
	var turns []replay.Turn
	must.Do(t, json.Unmarshal(text, &turns))
	if again, _ := json.Marshal(recording.Turns()); !bytes.Equal(again, compact(t, text)) {
		t.Errorf("the events make other turns: %s", again)
	}
	var by []string
	for _, turn := range turns {
		by = append(by, turn.By)
		if turn.EndMs < turn.StartMs {
			t.Errorf("%+v", turn)
		}
	}
	if got := strings.Join(by, " "); got != "agent visitor agent"+strings.Repeat(" visitor agent", 4**rounds) {
		t.Fatalf("turns of %s\n%s", got, text)
	}
	if turns[2].Interrupted {
		t.Errorf("%+v", turns[2])
	}
	for round := range slices.Chunk(turns[3:], 8) {
		if note := round[1]; len(note.Tools) != 1 || note.Tools[0].Name != "save_note" || note.Text != "It is noted." {
			t.Errorf("%+v", note)
		}
		if story := round[3]; !story.Interrupted {
			t.Errorf("%+v", story)
		}
		if password := round[5]; password.Text != "The password is swordfish." {
			t.Errorf("%+v", password)
		}
		if story := round[7]; story.Interrupted {
			t.Errorf("%+v", story)
		}
	}
}

func compact(t *testing.T, text []byte) []byte {
	var b bytes.Buffer
	must.Do(t, json.Compact(&b, text))
	return b.Bytes()
}

func checkMovie(t *testing.T, dir, name string, recording *replay.Recording) {
	t.Helper()
	f := must.Get(os.Open(filepath.Join(dir, name)))(t)
	defer f.Close()
	var movie struct {
		Header  webm.EBMLHeader `ebml:"EBML"`
		Segment webm.Segment    `ebml:"Segment"`
	}
	if err := ebml.Unmarshal(f, &movie); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	tracks := movie.Segment.Tracks.TrackEntry
	if len(tracks) != 2 || tracks[0].CodecID != "A_OPUS" || tracks[1].Video.PixelWidth != 640 {
		t.Fatalf("%+v", tracks)
	}
	decoder := must.Get(av.NewDecoder(webrtc.MimeTypeOpus, voiceRate))(t)
	var length int64
	blocks := map[uint64]int{}
	loud := 0
	for _, cluster := range movie.Segment.Cluster {
		for _, b := range cluster.SimpleBlock {
			length = max(length, int64(cluster.Timecode)+int64(b.Timecode))
			if blocks[b.TrackNumber]++; b.TrackNumber != 1 {
				continue
			}
			pcm := must.Get(decoder.Decode(av.Frame{Data: b.Data[0]}))(t)
			for _, sample := range pcm {
				if sample > 3000 {
					loud++
				}
			}
		}
	}
	end := recording.Entries[len(recording.Entries)-1].At
	begin := end
	for _, e := range recording.Entries {
		if e.File == name {
			begin = e.At
		}
	}
	if missing := end - begin - length; missing > 2000 || missing < -500 {
		t.Errorf("%d ms of the agent in %d ms", length, end-begin)
	}
	outage := int64(*rounds) * 6000 // ms at most without media, until the session has repaired it
	if sound := int64(blocks[1]) * 20; sound < length*9/10-outage || blocks[2] < int((length-outage)/50) || loud < voiceRate/2 {
		t.Errorf("%d blocks of sound, %d of pictures, %d loud samples in %d ms", blocks[1], blocks[2], loud, length)
	}
	if movie.Segment.Info.Duration <= 0 || movie.Segment.Cues == nil {
		t.Errorf("no duration or no index: %+v", movie.Segment.Info)
	}
}

// checkPlayback seeks into the movie in Chromium and plays it there.
func checkPlayback(t *testing.T, dir, name string) {
	t.Helper()
	if _, err := chromium.Find(); testing.Short() || err != nil {
		t.Log("not played in a browser:", err)
		return
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	browser := must.Get(browsertest.Start(t.Context(), browsertest.Options{}))(t)
	defer browser.Close()
	page := must.Get(browser.NewPage(t.Context(), server.URL+"/"+replay.TurnsFile))(t)
	var played struct {
		Length, At           float64
		Width, Frames, Sound int
		Error                string
	}
	if err := page.Eval(t.Context(), `new Promise(done => {
		const v = document.createElement("video")
		v.muted = true
		const report = error => done({
			length: v.duration, at: v.currentTime, width: v.videoWidth, error,
			frames: v.getVideoPlaybackQuality().totalVideoFrames, sound: v.webkitAudioDecodedByteCount,
		})
		v.onerror = () => report(v.error.message)
		v.onloadedmetadata = () => { v.currentTime = 8 }
		v.onseeked = () => v.play()
		v.ontimeupdate = () => { if (v.currentTime > 9) report("") }
		document.body.append(v)
		v.src = "/`+name+`"
	})`, &played); err != nil {
		t.Fatal(err)
	}
	if played.Error != "" || played.Length < 15 || played.Width != 640 || played.Frames < 10 || played.Sound == 0 {
		t.Errorf("%s in Chromium: %+v", name, played)
	}
}

func checkMicrophone(t *testing.T, path string, recording *replay.Recording) {
	t.Helper()
	source := must.Get(av.FromFile(path))(t)
	defer source.(io.Closer).Close()
	var length time.Duration
	sound := 0
	for {
		s, err := source.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if length += s.Duration; len(s.Data) > 10 {
			sound++
		}
	}
	end := time.Duration(recording.Entries[len(recording.Entries)-1].At) * time.Millisecond
	if length < end/2 || length > end+time.Second || sound < 50 {
		t.Errorf("%v of microphone, %d packets of sound, in %v", length, sound, end)
	}
}
