package management

import "strings"

// avatarIDLength is how many hexadecimal digits the id of an avatar has.
const avatarIDLength = 24

func checkAvatarID(id string) error {
	bad := strings.ContainsFunc(id, func(r rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF", r) })
	if bad || len(id) != avatarIDLength {
		return badRequest("the id of an avatar must be 24 hexadecimal digits")
	}
	return nil
}
