// Package view holds the answers of the server as plain data: the objects of the wire contract with their exact
// JSON names, and the one error type that carries a refusal from where it is decided to the edge that reports it.
//
// The runtime, the intake and the catalog fill these structs; REST, the hub, gRPC and request/reply over NATS send
// them. Nothing here has behaviour beyond its encoding, so every surface shows the same object.
//
// A pointer or slice that is documented as optional encodes as null when it is absent; a list that is not optional
// is never null (the constructors and MarshalJSON methods see to it).
package view
