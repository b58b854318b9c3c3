//! The body of a refusal: a problem (RFC 9457) that names every rule that refused.

use serde::Serialize;

/// The media type of a problem.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// The problem of a caller that has used up its quota, in IANA's registry of problem types.
const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";

/// The problem of a server that can do less than usual, in the same registry.
const REDUCED_CAPACITY: &str = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Problem {
    /// 429: the caller has used up a quota, and there is more after a wait.
    QuotaExceeded,
    /// 429: the caller asks for more than a quota can ever give.
    NeverFits,
    /// 503: nobody could look the quota up, and the rule's mode is to deny then. The caller has done nothing wrong.
    ReducedCapacity,
    /// 403: a rule blocks whatever it matches.
    Blocked,
}

impl Problem {
    /// The status of the response.
    pub const fn status(self) -> u16 {
        match self {
            Problem::QuotaExceeded | Problem::NeverFits => 429,
            Problem::ReducedCapacity => 503,
            Problem::Blocked => 403,
        }
    }

    /// The body of the response, as JSON: `violated` are the ids of the rules that refused.
    ///
    /// ```
    /// use tallyring_protocol::problem::Problem;
    /// let body = Problem::QuotaExceeded.to_json(&["minute", "hour"]);
    /// assert!(body.contains(r#""violated-policies":["minute","hour"]"#));
    /// ```
    pub fn to_json(self, violated: &[&str]) -> String {
        let body = Body {
            kind: self.type_uri(),
            title: self.title(),
            status: self.status(),
            detail: self.detail(),
            violated_policies: violated,
        };
        serde_json::to_string(&body).expect("texts and a number are JSON")
    }

    /// The status that a gRPC client is told: `RESOURCE_EXHAUSTED`, `UNAVAILABLE` or `PERMISSION_DENIED`.
    pub const fn grpc_status(self) -> u16 {
        match self {
            Problem::QuotaExceeded | Problem::NeverFits => 8,
            Problem::ReducedCapacity => 14,
            Problem::Blocked => 7,
        }
    }

    /// What to do about it, in a sentence of ASCII.
    pub const fn detail(self) -> &'static str {
        match self {
            Problem::QuotaExceeded => "Wait as long as Retry-After says, then try again.",
            Problem::NeverFits => "This request asks for more than the quota can ever give: waiting does not help.",
            Problem::ReducedCapacity => "The quota cannot be looked up at the moment. Try again after Retry-After.",
            Problem::Blocked => "Requests like this one are blocked.",
        }
    }

    const fn type_uri(self) -> &'static str {
        match self {
            Problem::QuotaExceeded | Problem::NeverFits => QUOTA_EXCEEDED,
            Problem::ReducedCapacity => REDUCED_CAPACITY,
            Problem::Blocked => "about:blank",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Problem::QuotaExceeded | Problem::NeverFits => {
                "Request cannot be satisfied as assigned quota has been exceeded"
            }
            Problem::ReducedCapacity => "Request cannot be satisfied due to temporary server capacity constraints",
            Problem::Blocked => "Forbidden",
        }
    }
}

/// The members of a problem, in the order in which people read them.
#[derive(Serialize)]
struct Body<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    status: u16,
    detail: &'static str,
    #[serde(rename = "violated-policies")]
    violated_policies: &'a [&'a str],
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(problem: Problem, status: u16, kind: &str) {
        let body: serde_json::Value = serde_json::from_str(&problem.to_json(&["a\"b", "größe"])).unwrap();
        assert_eq!(body["status"], status);
        assert_eq!(problem.status(), status);
        assert_eq!(body["type"].as_str().unwrap().rsplit('#').next(), Some(kind));
        assert_eq!(body["violated-policies"], json!(["a\"b", "größe"]));
        assert!(!body["title"].as_str().unwrap().is_empty() && !body["detail"].as_str().unwrap().is_empty());
    }

    #[test]
    fn a_problem_says_whose_it_is() {
        check(Problem::QuotaExceeded, 429, "quota-exceeded");
        check(Problem::NeverFits, 429, "quota-exceeded");
        check(Problem::ReducedCapacity, 503, "temporary-reduced-capacity");
        check(Problem::Blocked, 403, "about:blank");
    }

    #[test]
    fn waiting_is_only_advised_where_it_helps() {
        assert!(Problem::QuotaExceeded.to_json(&[]).contains("Retry-After"));
        assert!(!Problem::NeverFits.to_json(&[]).contains("Retry-After"));
        assert!(!Problem::Blocked.to_json(&[]).contains("Retry-After"));
    }
}
