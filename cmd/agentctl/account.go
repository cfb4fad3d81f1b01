package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/agentruntime/agentruntime/management"
)

// The environment variables.
const (
	envPartner    = "AGENTRUNTIME_PARTNER_ID"
	envSecret     = "AGENTRUNTIME_ADMIN_SECRET"
	envSecretFile = "AGENTRUNTIME_ADMIN_SECRET_FILE"
	envService    = "AGENTRUNTIME_SERVICE_FILE"
	envRegion     = "AGENTRUNTIME_REGION"
	envAgentic    = "AGENTRUNTIME_AGENTIC_URL"
	envGenie      = "AGENTRUNTIME_GENIE_URL"
	envOVP        = "AGENTRUNTIME_OVP_URL"
	envMessaging  = "AGENTRUNTIME_MESSAGING_URL"
)

// accountFlags are the flags of all commands: the service to use, and the form of the
// output.
func accountFlags() []cli.Flag {
	return []cli.Flag{
		boolFlag("json", "print JSON: one object, or one on each line of a list"),
		fromEnv(textFlag("partner", "the account's `number`"), envPartner),
		fromEnv(textFlag("region", "`code` of the region"), envRegion),
		fromEnv(textFlag("secret-file", "`file` with the admin secret"), envSecretFile),
		fromEnv(textFlag("service-file", "`file` with what localservice -json prints"), envService),
	}
}

func fromEnv(f *cli.StringFlag, name string) *cli.StringFlag {
	f.Sources, f.Validator = cli.EnvVars(name), nil // an empty variable is one that is not set
	return f
}

// serviceFile is the part of the local service's output that is needed.
type serviceFile struct {
	management.Config
	PartnerID   int64  `json:"partnerId"`
	AdminSecret string `json:"adminSecret"`
}

// accountOptions returns the options of the client: flags have priority, then the
// environment, then the file of a local service.
func accountOptions(c *cli.Command) (management.Options, error) {
	var file serviceFile
	if path := c.String("service-file"); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return management.Options{}, err
		}
		if err := json.Unmarshal(text, &file); err != nil {
			return management.Options{}, fmt.Errorf("%s is not what localservice -json prints: %w", path, err)
		}
	}
	o := management.Options{Config: file.Config, PartnerID: file.PartnerID, UserID: "agentctl", Secret: file.AdminSecret}
	if text := c.String("partner"); text != "" {
		n, err := number(text)
		if err != nil {
			return o, usageError{"-partner and " + envPartner + " must be a number"}
		}
		o.PartnerID = n
	}
	if o.PartnerID == 0 {
		return o, usageError{"which account? Set " + envPartner + " or pass -partner"}
	}
	if secret := os.Getenv(envSecret); secret != "" {
		o.Secret = secret
	}
	if path := c.String("secret-file"); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return o, err
		}
		if o.Secret = string(bytes.TrimSpace(text)); o.Secret == "" {
			return o, usageError{path + " is empty; it must have the admin secret in it"}
		}
	}
	if region := c.String("region"); region != "" {
		o.Region = &region
	}
	for env, to := range map[string]**string{
		envAgentic: &o.AgenticURL, envGenie: &o.GenieURL, envOVP: &o.OVPURL, envMessaging: &o.MessagingURL,
	} {
		if value := os.Getenv(env); value != "" {
			*to = &value
		}
	}
	return o, nil
}
