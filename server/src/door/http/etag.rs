//! Versions of the rules as entity tags: `"1764540000000000-7"` is the seventh document of the history that began then.

use axum::http::{HeaderMap, HeaderValue, header};
use tallyring_protocol::RulesVersion;

use super::problem::Problem;
use crate::rules::publish::Expect;

/// Tags of one If-Match or If-None-Match; the rest is not read.
const TAGS_MAX: usize = 16;

/// The tag of a version.
pub(super) fn of(version: RulesVersion) -> HeaderValue {
    let tag = format!("\"{}-{}\"", version.lineage, version.version);
    HeaderValue::from_str(&tag).expect("digits and quotes are visible ASCII")
}

/// What a request expects to be live, by its If-Match.
///
/// A bare number, `"7"`, is taken for that version of whatever history is `live`, for people who type.
///
/// # Errors
/// 428 if it says nothing: a push that does not say what it is over may undo somebody else's. 400 if what it says is no
/// strong entity tag.
pub(super) fn expected(headers: &HeaderMap, live: RulesVersion) -> Result<Expect, Problem> {
    let Some(tags) = headers.get(header::IF_MATCH) else {
        let detail = "say in If-Match which version this is to replace, by the ETag of a GET; * = whatever is live";
        return Err(Problem::new(axum::http::StatusCode::PRECONDITION_REQUIRED, detail));
    };
    let tags = tags.to_str().map_err(|_| Problem::field("If-Match", "not entity tags"))?;
    if tags.trim() == "*" {
        return Ok(Expect::Anything);
    }
    if let Some(tag) = tags.split(',').map(str::trim).find(|tag| !is_strong(tag)) {
        let form = "a version is a number in quotes, \"7\", or the ETag of a GET as it is; * = whatever is live";
        return Err(Problem::field("If-Match", format!("{tag} is no such tag: {form}")));
    }
    Ok(Expect::OneOf(versions(tags, live)))
}

/// Whether a tag is in quotes. A weak one never matches (RFC 9110, section 13.1.1), so who sends it cannot mean it.
fn is_strong(tag: &str) -> bool {
    tag.len() >= 2 && tag.starts_with('"') && tag.ends_with('"')
}

/// Whether a request has what is live already, by its If-None-Match.
pub(super) fn is_known(headers: &HeaderMap, live: RulesVersion) -> bool {
    let tags = headers.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok()).unwrap_or("");
    // Here a weak tag is as good as a strong one (RFC 9110, section 13.1.2).
    tags.trim() == "*" || versions(&tags.replace("W/", ""), live).contains(&live)
}

/// The versions that tags name; a tag that is none of ours names none, and so does a weak one.
fn versions(tags: &str, live: RulesVersion) -> Vec<RulesVersion> {
    let tags = tags.split(',').take(TAGS_MAX).filter_map(|tag| tag.trim().strip_prefix('"')?.strip_suffix('"'));
    tags.filter_map(|tag| version(tag, live)).collect()
}

fn version(tag: &str, live: RulesVersion) -> Option<RulesVersion> {
    match tag.split_once('-') {
        Some((lineage, version)) => {
            Some(RulesVersion { lineage: lineage.parse().ok()?, version: version.parse().ok()? })
        }
        None => Some(RulesVersion { lineage: live.lineage, version: tag.parse().ok()? }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIVE: RulesVersion = RulesVersion { lineage: 50, version: 7 };

    fn check(if_match: &str, expect: &Expect) {
        let headers = HeaderMap::from_iter([(header::IF_MATCH, HeaderValue::from_str(if_match).unwrap())]);
        assert_eq!(expected(&headers, LIVE).unwrap(), *expect, "{if_match}");
    }

    #[test]
    fn tags_name_versions() {
        let versions = |versions: &[(u64, u64)]| {
            Expect::OneOf(versions.iter().map(|&(lineage, version)| RulesVersion { lineage, version }).collect())
        };
        check("\"50-7\"", &versions(&[(50, 7)]));
        check("\"50-6\", \"50-7\"", &versions(&[(50, 6), (50, 7)]));
        check("\"7\"", &versions(&[(50, 7)]));
        check("*", &Expect::Anything);
        check("\"x\", \"-\", \"\"", &versions(&[]));
        assert_eq!(of(LIVE), "\"50-7\"");
    }

    #[test]
    fn what_is_no_strong_tag_is_told_the_form() {
        for tags in ["7", "50-7", "W/\"50-7\"", "\"50-7\", 7", "\"", ""] {
            let headers = HeaderMap::from_iter([(header::IF_MATCH, HeaderValue::from_str(tags).unwrap())]);
            let problem = format!("{:?}", expected(&headers, LIVE).unwrap_err());
            assert!(problem.contains("400") && problem.contains("a number in quotes"), "{tags}: {problem}");
        }
    }

    #[test]
    fn a_push_without_a_tag_is_asked_for_one() {
        assert!(expected(&HeaderMap::new(), LIVE).is_err());
    }

    #[test]
    fn who_has_what_is_live_need_not_get_it_again() {
        let known = |tags: &'static str| {
            is_known(&HeaderMap::from_iter([(header::IF_NONE_MATCH, HeaderValue::from_static(tags))]), LIVE)
        };
        assert!(known("\"50-7\"") && known("W/\"50-7\"") && known("\"1-1\", \"50-7\"") && known("*"));
        assert!(!known("\"50-6\"") && !known("") && !is_known(&HeaderMap::new(), LIVE));
    }
}
