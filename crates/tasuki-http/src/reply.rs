//! Answers.

use crate::Subscription;

/// What follows the head of an answer.
#[derive(Debug)]
pub enum Body {
    /// A text.
    Text(String),
    /// Server-sent events (WHATWG HTML, section 9.2) until the feed ends or the client does not read any
    /// more.
    Events(Subscription),
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    /// Status code (RFC 9110, section 15).
    pub status: u16,
    /// Media type of the body.
    pub media_type: &'static str,
    /// Further headers. Neither names nor values have line breaks.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Body,
}

impl Reply {
    /// A text of this media type.
    pub fn text(media_type: &'static str, body: String) -> Self {
        Self { status: 200, media_type, headers: Vec::new(), body: Body::Text(body) }
    }

    /// Events as they come.
    pub fn events(subscription: Subscription) -> Self {
        let body = Body::Events(subscription);
        Self { status: 200, media_type: "text/event-stream", headers: Vec::new(), body }
    }

    /// A line of text that says why there is nothing else.
    pub fn refusal(status: u16, why: &str) -> Self {
        Self { status, ..Self::text("text/plain; charset=utf-8", format!("{why}\n")) }
    }

    /// The head of the answer, up to its empty line.
    pub(crate) fn head(&self) -> String {
        let mut head = format!(
            "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nConnection: close\r\n",
            self.status,
            reason(self.status),
            self.media_type
        );
        if let Body::Text(text) = &self.body {
            head += &format!("Content-Length: {}\r\n", text.len());
        }
        for (name, value) in &self.headers {
            // A line break would begin a header of its own.
            let value: String = value.chars().filter(|c| !c.is_control()).collect();
            head += &format!("{name}: {value}\r\n");
        }
        head + "\r\n"
    }
}

/// The words of a status code (RFC 9110, section 15; RFC 6585).
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        421 => "Misdirected Request",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_begins_a_header_of_its_own() {
        let mut reply = Reply::refusal(404, "no");
        reply.headers.push(("X-Name", "a\r\nSet-Cookie: b".into()));
        let head = reply.head();
        assert!(
            head.contains("X-Name: aSet-Cookie: b\r\n") && head.contains("Content-Length: 3\r\n"),
            "{head}"
        );
        assert_eq!(head.matches("\r\n\r\n").count(), 1);
    }
}
