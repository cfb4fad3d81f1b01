package fault

// How a refused reply is read (protocol §9.7). js/src/generated/refusals.ts is generated
// from these declarations, so that the management client in TypeScript reads it in the same
// way; testdata/refusals.json has the cases that both are tested with.

// RefusalNames are the names and texts that have a code of their own, wherever they are in
// the body of a refusal. The first one that is found counts, before the status.
var RefusalNames = [...]struct {
	Name string
	Code Code
}{
	{"AGENT_PARTNER_CONFIG_GENIE_ID_MISMATCH", GenieIDMismatch},
	{"AGENT_PARTNER_CONFIG_NOT_FOUND", IntellectNotFound},
	{"AGENT_NOT_FOUND", AgentNotFound},
	{"INVALID_WIDGET_ID", AgentNotFound},
	{"CATALOG_ITEM_NOT_FOUND", CatalogItemNotFound},
	{"INVALID_INSIGHT_SETTINGS", InvalidInsightSettings},
	{"VOICE_DOES_NOT_EXIST_ON_ELEVEN_LABS", VoiceNotFoundElevenLabs},
	{"VOICE_DOES_NOT_EXIST_ON_CARTESIA", VoiceNotFoundCartesia},
	{"Invalid filter type", InvalidFilter},
	{"union_tag_not_found", MissingDiscriminator},
	{"Client variables are not allowed", ClientVariablesDisabled},
}

// StatusCodes are the codes of statuses. Any other status is ServerError from 500 on, and
// OtherError below.
var StatusCodes = [...]struct {
	Status int
	Code   Code
}{
	{400, BadRequest},
	{401, Unauthorized},
	{403, Forbidden},
	{404, NotFound},
	{405, MethodNotAllowed},
	{409, Conflict},
	{422, ValidationError},
	{429, RateLimited},
}

// RefusedForNow is the status of the refusals that are retryable.
const RefusedForNow = 503

// OutcomeKeys are the keys of an object that describes an outcome and nothing else.
var OutcomeKeys = [...]string{"error", "message", "detail", "code", "status", "statusCode", "success", "ok", "requestId", "request_id"}

// DiagnosticHeaders are the reply headers kept on an error: they help to find
// the request in the service's logs and contain no personal data.
var DiagnosticHeaders = [...]string{"content-type", "date", "retry-after", "x-kaltura-request-id", "x-request-id"}

const (
	// MaxMessage is how many characters of a server's text are kept.
	MaxMessage = 500
	// MaxRefusal bounds the part of a refused reply that is read and kept: an error is
	// carried around and printed, so it must stay small.
	MaxRefusal = 64 << 10
)
