// Package visitor has the calls that a page may make for its visitor with the conversation
// token, outside of a conversation: the visitor's threads, their messages and transcripts,
// ratings of answers, suggested questions and the assistant's status (service.md "Threads",
// "Messages, feedback, followups" and "Converse and status"; protocol §9.10).
//
//	client, err := visitor.New(visitor.Options{Token: init.KS, Kind: init.Kind, GenieURL: &init.GenieURL})
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	for thread, err := range client.AllThreads(ctx, visitor.ThreadQuery{}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(thread.Title, thread.UpdatedAt.Time().Format(time.DateOnly))
//	}
//
// Every call is one request and keeps no state, so a [Client] may be used by several
// goroutines, and before, during and after a session. Errors are *fault.Error:
// bad_request and validation_error for an invalid argument, without a request, the
// codes of protocol §9.7, and aborted when the context ended. fetch.Call decides
// which failures are retried.
//
// # Access to threads
//
// The service returns the threads of the user whose id is in the token. A widget token
// is the same for every visitor and has no threads: calls about threads and messages then
// fail with wrong_token_scope, without a request. To keep a history per visitor, the
// page's server makes an agent token with a distinct user id for each visitor (service.md
// "Authentication" rule 10). A call with a token of unknown kind is sent, and the service
// may refuse it with forbidden.
//
// Feedback, suggested questions and the assistant's status need no user:
// [Client.AddFeedback], [Client.Followups] and [Client.Status] also work with the token
// that appInit returns for a widget token.
//
// # Records
//
// [Thread] and [Message] have the documented fields, and in Raw the whole record of the
// service, which may have more. They are marshaled as Raw, for JSON and for pages.
//
// This package must not depend on sessions, sockets or media.
package visitor
