package localservice_test

import (
	"bytes"
	"encoding/json"
	"math"
	"mime/multipart"
	"net/http"
	"testing"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/renderer"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
	"github.com/agentruntime/agentruntime/internal/must"
)

// stageKit calls the routes of avatar sessions.
type stageKit struct {
	t     *testing.T
	info  localservice.Info
	admin string // Authorization
}

func newStageKit(t *testing.T) *stageKit {
	t.Helper()
	info := servicetest.Start(t, localservice.Options{}).Info()
	return &stageKit{t, info, "KS " + adminToken(t, info)}
}

const plain = "application/json"

func (k *stageKit) send(path, auth, contentType, body string) (int, map[string]any) {
	k.t.Helper()
	reply, text := send(k.t, http.MethodPost, k.info.AgenticURL+"/avatar-session/"+path, http.Header{"Authorization": {auth}, "Content-Type": {contentType}}, body)
	var object map[string]any
	must.Do(k.t, json.Unmarshal([]byte(text), &object))
	return reply.StatusCode, object
}

func (k *stageKit) create() (id, auth string) {
	k.t.Helper()
	status, reply := k.send("create", k.admin, plain, `{"visualConfig":{"id":"5ac0000000000000000000a1"},"other":1}`)
	if status != 200 {
		k.t.Fatalf("create: %d %v", status, reply)
	}
	return reply["sessionId"].(string), "Bearer " + reply["token"].(string)
}

func (k *stageKit) say(id, auth, duration string, file []byte) (int, map[string]any) {
	k.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.WriteField("turnId", "turn-1") // into memory, as the rest
	_ = form.WriteField("duration", duration)
	if file != nil {
		part, _ := form.CreateFormFile("audio", "audio")
		_, _ = part.Write(file)
	}
	_ = form.Close()
	return k.send(id+"/say-audio", auth, form.FormDataContentType(), body.String())
}

// TestAvatarSession: a server makes a picture say a sound file, which a viewer sees and
// hears; an interruption cuts it, and the end of the session ends the picture.
func TestAvatarSession(t *testing.T) {
	t.Parallel()
	k := newStageKit(t)
	id, auth := k.create()
	status, view := k.send(id+"/init-client", auth, plain, `{}`)
	if status != 200 {
		t.Fatalf("init-client: %d %v", status, view)
	}
	relay, address := view["turn"].(map[string]any), view["whepUrl"].(string)
	var init appInit
	init.TURNServerURL = relay["url"].(string)
	init.TURNCredentials.Username, init.TURNCredentials.Credential = relay["username"].(string), relay["credential"].(string)
	succeeds := func(action string) {
		t.Helper()
		if status, reply := k.send(id+"/"+action, auth, plain, `{}`); status != 200 || reply["success"] != true {
			t.Errorf("%s: %d %v", action, status, reply)
		}
	}
	got := watch(t, init, address)
	got.wait(t, "picture", func() bool { return got.frames >= renderer.FrameRate })
	got.mu.Lock()
	heard := len(got.pcm)
	if quiet := got.level(0); quiet > silent {
		t.Errorf("level %v before anything is said", quiet)
	}
	got.mu.Unlock()

	tone := make([]int16, 8000*30)
	for i := range tone {
		tone[i] = int16(12000 * math.Sin(2*math.Pi*440*float64(i)/8000))
	}
	if status, said := k.say(id, auth, "30", audio.EncodeWAV(tone, 8000)); status != 200 || said["turnId"] != "turn-1" || said["success"] != true {
		t.Fatalf("said: %d %v", status, said)
	}
	got.wait(t, "voice", func() bool { return got.level(heard) > audible })
	succeeds("keep-alive")
	succeeds("interrupt")
	got.wait(t, "silence after the interruption", func() bool {
		const second = 16000
		return len(got.pcm) > second && audio.Level(got.pcm[len(got.pcm)-second/4:]) < silent
	})
	succeeds("end")
	expect.Equal(t, post(t, address, "v=0"), 404, "the picture after the end")
	if status, _ := k.send(id+"/keep-alive", auth, plain, `{}`); status != 404 {
		t.Errorf("keep-alive after the end: %d", status)
	}
}

// TestAvatarSessionCallsThatAreRefused: by a wrong token, a wrong file, and a length that is
// not one.
func TestAvatarSessionCallsThatAreRefused(t *testing.T) {
	t.Parallel()
	k := newStageKit(t)
	if status, _ := k.send("create", k.admin, plain, `{}`); status != 400 {
		t.Errorf("without a visual: %d", status)
	}
	if _, reply := k.send("create", k.admin, plain, `{"visualConfig":{"id":"5ac0000000000000000000b1"}}`); reply["code"] != "CATALOG_ITEM_NOT_FOUND" {
		t.Errorf("a voice as the visual: %v", reply)
	}
	id, auth := k.create()
	_, other := k.create()
	for name, wrong := range map[string]string{"the token of another session": other, "an admin's": k.admin, "none": ""} {
		if status, _ := k.send(id+"/keep-alive", wrong, plain, `{}`); status != 401 {
			t.Errorf("%s: %d", name, status)
		}
	}
	sound := audio.EncodeWAV(make([]int16, 800), 8000)
	for name, tt := range map[string]struct {
		duration string
		file     []byte
		want     int
	}{
		"duration 0": {"0", sound, 400}, "no duration": {"x", sound, 400}, "no file": {"1", nil, 400}, "text": {"1", []byte("hello"), 400},
		"a short sound": {"0.1", sound, 200},
	} {
		if status, reply := k.say(id, auth, tt.duration, tt.file); status != tt.want {
			t.Errorf("%s: %d %v, want %d", name, status, reply, tt.want)
		}
	}
}
