// Package ice stands in for pion/ice in the programs for the page, where the browser does
// ICE. It declares what pion/webrtc refers to there, for types only: no function of this
// module is linked (internal/archtest), and those that can return an error do.
package ice

import (
	"errors"
	"time"
)

type (
	CandidateType      byte
	ConnectionState    int
	NetworkType        int
	CandidatePairState int
	SchemeType         int
	TCPType            int
)

const (
	CandidateTypeUnspecified CandidateType = iota
	CandidateTypeHost
	CandidateTypeServerReflexive
	CandidateTypePeerReflexive
	CandidateTypeRelay
)

const (
	ConnectionStateUnknown ConnectionState = iota
	ConnectionStateNew
	ConnectionStateChecking
	ConnectionStateConnected
	ConnectionStateCompleted
	ConnectionStateFailed
	ConnectionStateDisconnected
	ConnectionStateClosed
)

const (
	NetworkTypeUDP4 NetworkType = iota + 1
	NetworkTypeUDP6
	NetworkTypeTCP4
	NetworkTypeTCP6
)

const (
	CandidatePairStateWaiting CandidatePairState = iota + 1
	CandidatePairStateInProgress
	CandidatePairStateFailed
	CandidatePairStateSucceeded
)

const (
	SchemeTypeTURN SchemeType = iota + 3
	SchemeTypeTURNS
)

func (CandidateType) String() string      { return "" }
func (NetworkType) NetworkShort() string  { return "" }
func (NetworkType) String() string        { return "" }
func (CandidatePairState) String() string { return "" }
func (ConnectionState) String() string    { return "" }
func (TCPType) String() string            { return "" }

type Candidate interface {
	ID() string
	Type() CandidateType
	NetworkType() NetworkType
	Foundation() string
	Priority() uint32
	Address() string
	Port() int
	Component() uint16
	TCPType() TCPType
	Extensions() []CandidateExtension
	AddExtension(CandidateExtension) error
	RelatedAddress() *CandidateRelatedAddress
	Marshal() string
	String() string
}

type CandidateExtension struct{ Key, Value string }

type CandidateRelatedAddress struct {
	Address string
	Port    int
}

type CandidateHostConfig struct {
	CandidateID, Network, Address string
	Port                          int
	Component                     uint16
	Priority                      uint32
	Foundation                    string
	TCPType                       TCPType
}

type CandidateServerReflexiveConfig struct {
	CandidateID, Network, Address string
	Port                          int
	Component                     uint16
	Priority                      uint32
	Foundation, RelAddr           string
	RelPort                       int
}

type (
	CandidatePeerReflexiveConfig CandidateServerReflexiveConfig
	CandidateRelayConfig         CandidateServerReflexiveConfig
)

func NewCandidateHost(*CandidateHostConfig) (Candidate, error) { return nil, errors.ErrUnsupported }

func NewCandidateServerReflexive(*CandidateServerReflexiveConfig) (Candidate, error) {
	return nil, errors.ErrUnsupported
}

func NewCandidatePeerReflexive(*CandidatePeerReflexiveConfig) (Candidate, error) {
	return nil, errors.ErrUnsupported
}

func NewCandidateRelay(*CandidateRelayConfig) (Candidate, error) { return nil, errors.ErrUnsupported }

func UnmarshalCandidate(string) (Candidate, error) { return nil, errors.ErrUnsupported }
func NewTCPType(string) TCPType                    { return 0 }

type URL struct{ Scheme SchemeType }

func ParseURL(string) (*URL, error) { return nil, errors.ErrUnsupported }

type CandidatePairStats struct {
	Timestamp                                                         time.Time
	LocalCandidateID, RemoteCandidateID                               string
	State                                                             CandidatePairState
	Nominated                                                         bool
	PacketsSent, PacketsReceived                                      uint32
	BytesSent, BytesReceived                                          uint64
	LastPacketSentTimestamp, LastPacketReceivedTimestamp              time.Time
	FirstRequestTimestamp, LastRequestTimestamp                       time.Time
	FirstResponseTimestamp, LastResponseTimestamp                     time.Time
	FirstRequestReceivedTimestamp, LastRequestReceivedTimestamp       time.Time
	TotalRoundTripTime, CurrentRoundTripTime                          float64
	AvailableOutgoingBitrate, AvailableIncomingBitrate                float64
	CircuitBreakerTriggerCount                                        uint32
	RequestsReceived, RequestsSent, ResponsesReceived, ResponsesSent  uint64
	RetransmissionsReceived, RetransmissionsSent, ConsentRequestsSent uint64
	ConsentExpiredTimestamp                                           time.Time
}
