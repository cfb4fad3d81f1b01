// Package pageserver is what a server of web pages with an agent needs besides its own
// endpoints: [Files] serves the files of the pages and nothing else of the directory they
// are in, [Hosts] refuses requests under foreign host names, and [Limits] bounds what one
// client takes. The servers of this project use it, and a site may. It brings no other
// module.
package pageserver
