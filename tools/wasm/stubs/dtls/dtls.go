// Package dtls stands in for pion/dtls in the programs for the page, where the browser does
// DTLS. It declares what pion/webrtc refers to there.
package dtls

type SRTPProtectionProfile uint16

// RFC 5764 and RFC 7714.
const (
	SRTP_AES128_CM_HMAC_SHA1_80 SRTPProtectionProfile = 0x0001
	SRTP_AEAD_AES_128_GCM       SRTPProtectionProfile = 0x0007
	SRTP_AEAD_AES_256_GCM       SRTPProtectionProfile = 0x0008
)
