package management

import (
	"errors"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// IsNotFound reports whether err means that the object of the call does not exist:
// not_found, agent_not_found, catalog_item_not_found, intellect_not_found, or an
// api_exception with a title such as AVATAR_NOT_FOUND, which is the only sign of an
// unknown avatar (service.md "Avatars").
func IsNotFound(err error) bool {
	for _, code := range [...]fault.Code{fault.NotFound, fault.AgentNotFound, fault.CatalogItemNotFound, fault.IntellectNotFound} {
		if errors.Is(err, code) {
			return true
		}
	}
	var f *fault.Error
	return errors.As(err, &f) && f.Code == fault.APIException && strings.HasSuffix(f.Title, "_NOT_FOUND")
}
