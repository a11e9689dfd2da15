//! Splits a streamed answer into lines; what a line means is not its business.

use http_body_util::BodyExt as _;
use kube::client::Body;

/// The longest line that is read: no object in etcd is larger than 1.5 MiB by default.
const LONGEST: usize = 8 * 1024 * 1024;

/// A buffer that one long line has made larger than this is given back.
const KEPT: usize = 64 * 1024;

/// A streamed answer.
pub struct Lines {
    body: Body,
    buffer: Vec<u8>,
}

/// A stream that ends before its time.
#[derive(Debug, thiserror::Error)]
pub enum LinesError {
    /// The connection broke.
    #[error("the connection broke")]
    Broken(#[source] kube::Error),
    /// It ended in the middle of a line.
    #[error("the answer ends in the middle of a line")]
    Cut,
    /// There is no end of a line.
    #[error("a line of the answer is longer than {} MiB", LONGEST / 1024 / 1024)]
    TooLong,
}

impl Lines {
    pub(super) fn of(body: Body) -> Self {
        Self { body, buffer: Vec::new() }
    }

    /// The next line without its end; `None` once the server has ended the answer. May be dropped while it waits:
    /// nothing is lost.
    ///
    /// # Errors
    /// Where the answer ends otherwise.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, LinesError> {
        let mut seen = 0;
        loop {
            if let Some(end) = self.buffer[seen..].iter().position(|byte| *byte == b'\n') {
                let rest = self.buffer.split_off(seen + end + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                line.pop();
                if self.buffer.is_empty() && self.buffer.capacity() > KEPT {
                    self.buffer = Vec::new();
                }
                return Ok(Some(line));
            }
            seen = self.buffer.len();
            if seen > LONGEST {
                return Err(LinesError::TooLong);
            }
            match self.body.frame().await {
                None if self.buffer.is_empty() => return Ok(None),
                None => return Err(LinesError::Cut),
                Some(frame) => {
                    if let Ok(data) = frame.map_err(LinesError::Broken)?.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &str) -> (Vec<String>, Option<LinesError>) {
        let mut lines = Lines::of(Body::from(text.as_bytes().to_vec()));
        let mut seen = Vec::new();
        loop {
            match lines.next().await {
                Ok(Some(line)) => seen.push(String::from_utf8(line).unwrap()),
                Ok(None) => return (seen, None),
                Err(error) => return (seen, Some(error)),
            }
        }
    }

    #[tokio::test]
    async fn each_line_once_and_half_a_line_is_an_error() {
        assert!(matches!(lines("").await, (seen, None) if seen.is_empty()));
        assert!(matches!(lines("a\n\nbc\n").await, (seen, None) if seen == ["a", "", "bc"]));
        assert!(matches!(lines("a\nb").await, (seen, Some(LinesError::Cut)) if seen == ["a"]));
        let long = "x".repeat(LONGEST + 1);
        assert!(matches!(lines(&long).await, (_, Some(LinesError::TooLong))));
    }
}
