//! What went wrong between two that wanted to agree on keys, in words that say what to mend.

use std::fmt;
use std::io;

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, PeerIncompatible};

use crate::observe::door::Refusal;

/// The reason to count.
pub(super) fn refusal(error: &io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::TimedOut => Refusal::Slow,
        _ if of_tls(error).is_some() => Refusal::Tls,
        _ => Refusal::Broken,
    }
}

/// An error and, where it is known, what to do about it.
pub(super) struct Explained<'a>(pub(super) &'a io::Error);

impl fmt::Display for Explained<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match of_tls(self.0) {
            Some(error) => match hint(error) {
                Some(hint) => write!(f, "{error}: {hint}"),
                None => write!(f, "{error}"),
            },
            None if self.0.kind() == io::ErrorKind::TimedOut => f.write_str("TLS was not agreed on in time"),
            None => write!(f, "it broke off during the TLS handshake: {}", self.0),
        }
    }
}

fn of_tls(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}

fn hint(error: &Error) -> Option<&'static str> {
    let hint = match error {
        Error::InvalidMessage(InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion) => {
            "it speaks plain text to a port that has TLS; give it the CA of this node"
        }
        Error::NoCertificatesPresented => "--tls-ca asks every client for a certificate, and it has shown none",
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "its certificate was not issued by the CA of --tls-ca"
        }
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "its certificate has expired"
        }
        Error::AlertReceived(AlertDescription::UnknownCA | AlertDescription::BadCertificate) => {
            "it does not trust this node's certificate: has it the right CA?"
        }
        Error::AlertReceived(AlertDescription::CertificateExpired) => "this node's certificate has expired",
        Error::NoApplicationProtocol => "it asked for a protocol that is spoken at another port",
        Error::PeerIncompatible(PeerIncompatible::Tls12NotOffered | PeerIncompatible::Tls13RequiredForQuic) => {
            "TLS 1.2 and 1.3 are spoken here"
        }
        _ => return None,
    };
    Some(hint)
}
