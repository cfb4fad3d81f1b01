package localservice

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/runtime/appinit"
)

func TestInfoIsPrintedWithoutItsSecret(t *testing.T) {
	genie := "http://127.0.0.1:8080"
	info := Info{AdminSecret: "an-admin-secret", Config: appinit.Config{GenieURL: &genie}}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("started", "service", info, "pointer", &info)
	for _, text := range []string{fmt.Sprint(info), fmt.Sprintf("%+v", info), fmt.Sprintf("%#v", info), fmt.Sprintf("%s", &info), log.String()} {
		if strings.Contains(text, info.AdminSecret) || !strings.Contains(text, genie) {
			t.Errorf("printed as %s", text)
		}
	}
}
