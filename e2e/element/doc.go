// Package element tests the elements <agent-avatar> and <agent-chat> in whole pages: from
// a tag to a conversation, in every state, by keyboard, on small screens.
package element
