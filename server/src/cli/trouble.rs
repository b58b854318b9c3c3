//! Why a node is of no use to a command. Each cause is a sentence of its own that says what to do, whichever door was asked.

use std::error::Error;
use std::fmt;
use std::io;

use rustls::{AlertDescription, CertificateError};

use super::exit::Failure;

/// A node that does not serve a command.
#[derive(Debug)]
pub(super) struct Trouble {
    /// Where it was looked for.
    pub(super) address: String,
    /// The flag that says where, without its dashes.
    pub(super) flag: &'static str,
    /// What is the matter.
    pub(super) cause: Cause,
}

/// What is the matter with it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The address takes no connections.
    Nobody,
    /// It cannot be reached, as the system says.
    Unreached(String),
    /// It does not answer in time.
    Silent,
    /// It speaks TLS, and was spoken to in plain text.
    SpeaksTls,
    /// It was spoken to over TLS, and knows none.
    KnowsNoTls,
    /// Its certificate does not come from a root that is trusted.
    Untrusted(String),
    /// Its certificate is for another name.
    OtherName(String),
    /// It wants a certificate, and was shown none.
    WantsCertificate,
    /// It was shown a certificate that it does not take.
    RefusesCertificate(String),
    /// TLS fails otherwise.
    Tls(String),
    /// It wants a token, and was told none.
    WantsToken,
    /// It was told a token that is none of its own.
    RefusesToken,
    /// It says goodbye, in its words.
    Goodbye(String),
    /// Something else answers.
    Stranger(String),
}

impl Cause {
    /// Why there is no connection.
    pub(super) fn of_connecting(error: &io::Error) -> Cause {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Cause::Nobody,
            _ => Cause::Unreached(error.to_string()),
        }
    }

    /// What TLS has against it, if it is that. `shows` says whether a certificate was shown.
    pub(super) fn of_tls(error: &(dyn Error + 'static), shows: bool) -> Option<Cause> {
        let mut next = Some(error);
        while let Some(error) = next {
            // What an `io::Error` wraps is not its source: that would be the source of what it wraps.
            let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            let wrapped = wrapped.and_then(|wrapped| wrapped.downcast_ref::<rustls::Error>());
            if let Some(error) = wrapped.or_else(|| error.downcast_ref()) {
                return Some(Cause::of_rustls(error, shows));
            }
            next = error.source();
        }
        None
    }

    fn of_rustls(error: &rustls::Error, shows: bool) -> Cause {
        use rustls::Error::{AlertReceived, InvalidCertificate, InvalidMessage};
        match error {
            InvalidMessage(_) => Cause::KnowsNoTls,
            InvalidCertificate(CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }) => {
                Cause::OtherName(error.to_string())
            }
            InvalidCertificate(_) => Cause::Untrusted(error.to_string()),
            AlertReceived(AlertDescription::CertificateRequired) if !shows => Cause::WantsCertificate,
            AlertReceived(_) if shows => Cause::RefusesCertificate(error.to_string()),
            _ => Cause::Tls(error.to_string()),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flag = self.flag;
        write!(f, "{}: ", self.address)?;
        match &self.cause {
            Cause::Nobody => write!(f, "nobody listens there: start the node, or say where it is with --{flag}"),
            Cause::Unreached(reason) => write!(f, "cannot be reached: {reason}: say where the node is with --{flag}"),
            Cause::Silent => f.write_str("it does not answer in time: it may be overloaded or stopped, or another port is meant"),
            Cause::SpeaksTls => f.write_str("it speaks TLS: name the roots of its certificate with --tls-ca FILE"),
            Cause::KnowsNoTls => f.write_str("it does not speak TLS: leave out --tls-ca"),
            Cause::Untrusted(reason) => {
                write!(f, "its certificate is not from --tls-ca: name the roots that it comes from ({reason})")
            }
            Cause::OtherName(reason) => {
                write!(f, "its certificate is for another name: call it by that with --{flag} ({reason})")
            }
            Cause::WantsCertificate => {
                f.write_str("it asks for a certificate: show one with --tls-cert FILE and --tls-key FILE")
            }
            Cause::RefusesCertificate(reason) => write!(f, "it does not take the certificate of --tls-cert ({reason})"),
            Cause::Tls(reason) => write!(f, "TLS: {reason}"),
            Cause::WantsToken => {
                f.write_str("it asks for a token: give one with --token-from FILE or in the variable TALLYRING_TOKEN")
            }
            Cause::RefusesToken => f.write_str(
                "the token is none of this node's: give another with --token-from FILE or in the variable TALLYRING_TOKEN",
            ),
            Cause::Goodbye(reason) => write!(f, "it ends the connection: {reason}"),
            Cause::Stranger(reason) => {
                write!(f, "what answers there is no tallyring ({reason}): say where the node is with --{flag}")
            }
        }
    }
}

impl From<Trouble> for Failure {
    /// A token that is refused is a refusal; everything else is a node that cannot be reached.
    fn from(trouble: Trouble) -> Failure {
        match trouble.cause {
            Cause::WantsToken | Cause::RefusesToken => Failure::invalid(trouble),
            _ => Failure::unreachable(trouble),
        }
    }
}

#[cfg(test)]
mod tests {
    use rustls::Error::{AlertReceived, InvalidCertificate};

    use super::*;

    fn check(error: rustls::Error, shows: bool, expect: &str) {
        let cause = Cause::of_tls(&io::Error::other(error), shows).unwrap();
        let said = Trouble { address: "there".to_owned(), flag: "http-addr", cause }.to_string();
        assert!(said.starts_with(&format!("there: {expect}")), "{said}");
    }

    #[test]
    fn what_tls_fails_for_is_a_sentence_each() {
        let unknown = InvalidCertificate(CertificateError::UnknownIssuer);
        check(unknown, false, "its certificate is not from --tls-ca: ");
        let name = InvalidCertificate(CertificateError::NotValidForName);
        check(name, false, "its certificate is for another name: call it by that with --http-addr");
        let required = || AlertReceived(AlertDescription::CertificateRequired);
        check(required(), false, "it asks for a certificate: ");
        check(required(), true, "it does not take the certificate of --tls-cert");
        check(rustls::Error::DecryptError, false, "TLS: ");
        assert_eq!(Cause::of_tls(&io::Error::other("else"), false), None);
    }
}
