//! Access to the page's data: for those who have the token.
//!
//! The page keeps the token where only pages of the very same address and port can read it, and sends it as
//! a header. A cookie would be given to every port of an address (RFC 6265, section 8.5): on a machine of
//! several users, to a server that another one of them runs on the loopback interface.

use crate::DashboardError;
use std::{
    fs::{self, File},
    io::Read,
    os::unix::fs::PermissionsExt,
    path::Path,
};
use subtle::ConstantTimeEq;
use tasuki_http::{Reply, Request};

/// Shortest token that a file may hold: 16 characters drawn from 64 are 96 bits.
const TOKEN_MIN: usize = 16;
/// Longest token: it is a part of an address.
const TOKEN_MAX: usize = 256;

/// What must be known to read the data. It is not shown by `{:?}`.
pub(crate) struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// 128 random bits, as hexadecimal digits.
    pub fn draw() -> Result<Self, DashboardError> {
        Ok(Self(random_digits()?))
    }

    /// What a file holds, which only its owner may read.
    pub fn read(path: &Path) -> Result<Self, DashboardError> {
        let wrong = |why: String| DashboardError::TokenFile { path: path.into(), why };
        let failed = |error: std::io::Error| wrong(format!("it cannot be read: {error}"));
        // A named pipe would be waited for when it is opened.
        if !fs::metadata(path).map_err(failed)?.is_file() {
            return Err(wrong("it is no file".into()));
        }
        let file = File::open(path).map_err(failed)?;
        let data = file.metadata().map_err(failed)?;
        if data.permissions().mode() & 0o077 != 0 {
            return Err(wrong(format!("others may open it; chmod 600 {}", path.display())));
        }
        let mut text = String::new();
        file.take(2 * TOKEN_MAX as u64).read_to_string(&mut text).map_err(failed)?;
        let token = text.trim_end();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
        if !(TOKEN_MIN..=TOKEN_MAX).contains(&token.len()) || !token.chars().all(is_plain) {
            return Err(wrong(format!(
                "a token is {TOKEN_MIN} to {TOKEN_MAX} letters, digits and -._~, as `openssl rand -hex 16` \
                 prints"
            )));
        }
        Ok(Self(token.into()))
    }

    /// The token itself, for the one who has started the dashboard.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether a request has the token; how long that takes says nothing about it but its length.
    fn is_of(&self, request: &Request) -> bool {
        let given = request.header("Authorization").and_then(|value| value.strip_prefix("Bearer "));
        given.is_some_and(|given| bool::from(given.as_bytes().ct_eq(self.0.as_bytes())))
    }
}

/// 128 random bits, as hexadecimal digits.
pub(crate) fn random_digits() -> Result<String, DashboardError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Rules for requests.
#[derive(Debug)]
pub(crate) struct Access {
    pub token: Token,
}

impl Access {
    /// Why a request is not answered at all.
    pub fn refuse(request: &Request) -> Option<Reply> {
        if !["GET", "HEAD"].contains(&request.method) {
            let mut reply = Reply::refusal(405, "only GET and HEAD are answered");
            reply.headers.push(("Allow", "GET, HEAD".into()));
            return Some(reply);
        }
        None
    }

    /// Why a request for data is not answered.
    pub fn refuse_data(&self, request: &Request) -> Option<Reply> {
        if self.token.is_of(request) {
            return None;
        }
        let mut reply = Reply::refusal(401, "the token is missing or wrong");
        reply.headers.push(("WWW-Authenticate", "Bearer".into()));
        Some(reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> Access {
        Access { token: Token("0123456789abcdef".into()) }
    }

    #[test]
    fn data_need_the_whole_token_and_nothing_is_changed_by_a_request() {
        let access = access();
        let status = |line: &str, header: &str| {
            let head = format!("{line} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\n");
            let request = Request::parse(head.as_bytes()).expect("a request");
            let refused = Access::refuse(&request).or_else(|| access.refuse_data(&request));
            refused.map(|reply| reply.status)
        };
        assert_eq!(status("GET /x", "Authorization: Bearer 0123456789abcdef"), None);
        for wrong in [
            "A: b",
            "Authorization: Bearer 0123456789abcde",
            "Authorization: Bearer 0123456789abcdefg",
            "Authorization: Bearer ",
            "Authorization: 0123456789abcdef",
            "Cookie: token=0123456789abcdef",
            "Authorization: Bearer 0123456789abcdef\r\nAuthorization: Bearer 0123456789abcdef",
        ] {
            assert_eq!(status("GET /x", wrong), Some(401), "{wrong}");
        }
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "get"] {
            assert_eq!(status(&format!("{method} /x"), "A: b"), Some(405), "{method}");
        }
    }

    #[test]
    fn tokens_are_drawn_anew_or_read_from_a_file_of_their_owner() {
        let [one, other] = [Token::draw().expect("random"), Token::draw().expect("random")];
        assert!(one.0.len() == 32 && one.0 != other.0 && !format!("{one:?}").contains(&one.0));
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        let read = |text: &str, mode| {
            fs::write(&path, text).expect("writes");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("changes");
            Token::read(&path).map(|token| token.0).map_err(|error| error.to_string())
        };
        assert_eq!(read("0123456789abcdef\n", 0o600), Ok("0123456789abcdef".into()));
        assert!(read("0123456789abcdef", 0o640).is_err_and(|error| error.contains("chmod 600")));
        for wrong in ["", "short", "0123456789abcde#", "0123456789 abcdef", &"a".repeat(300)] {
            assert!(read(wrong, 0o600).is_err_and(|error| error.contains("a token is")), "{wrong}");
        }
        assert!(Token::read(folder.path()).is_err_and(|error| error.to_string().contains("no file")));
        assert!(Token::read(&folder.path().join("none")).is_err());
    }
}
