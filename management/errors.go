package management

import (
	"errors"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// avatarNotFound is the title by which an unknown avatar is recognised: its code is only
// api_exception (service.md "Avatars").
const avatarNotFound = "AVATAR_NOT_FOUND"

// IsNotFound reports whether err says that what the call was about does not exist:
// not_found, agent_not_found, catalog_item_not_found, intellect_not_found, or the
// api_exception with the title AVATAR_NOT_FOUND.
func IsNotFound(err error) bool {
	for _, code := range [...]fault.Code{fault.NotFound, fault.AgentNotFound, fault.CatalogItemNotFound, fault.IntellectNotFound} {
		if errors.Is(err, code) {
			return true
		}
	}
	var f *fault.Error
	return errors.As(err, &f) && f.Code == fault.APIException && f.Title == avatarNotFound
}
