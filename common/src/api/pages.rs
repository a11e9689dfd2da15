//! Lists many objects, page by page; what they are is not its business.

use std::{marker::PhantomData, time::Duration};

use serde::{Deserialize, de::DeserializeOwned};

use super::{
    call::{Call, Selection},
    client::{Api, CallError, chain},
    retry::{Deadline, Patience, TimeIsUp},
};

/// Objects in a page: a pod's metadata is up to 5 kB, a pod 15, and one page is in memory at a time.
const PAGE: u32 = 250;

/// How long a further page is asked for.
const PATIENCE: Duration = Duration::from_secs(30);

/// A list of objects, or of what `T` reads of them, that is being read.
pub struct Pages<'a, T> {
    api: &'a Api,
    selection: &'a Selection,
    next: Next,
    version: String,
    objects: PhantomData<T>,
}

enum Next {
    First,
    After(String),
    Nothing,
}

#[derive(Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
struct Page<T> {
    metadata: PageMetadata,
    /// Go writes an empty list as null.
    items: Option<Vec<T>>,
}

/// A list always has a resource version; what has none is no list.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMetadata {
    #[serde(rename = "continue", default)]
    continued: String,
    resource_version: String,
}

impl<'a, T: DeserializeOwned> Pages<'a, T> {
    /// Begins a list.
    #[must_use]
    pub fn new(api: &'a Api, selection: &'a Selection) -> Self {
        Self { api, selection, next: Next::First, version: String::new(), objects: PhantomData }
    }

    /// The next page, or `None` after the last. For a further page an API that cannot answer now is asked again for a
    /// while: the pages so far are not thrown away for one 429.
    ///
    /// # Errors
    /// Where the API refuses, does not answer, or no longer has the rest of the list ([`Meaning::Expired`]): it
    /// is to be begun anew then.
    ///
    /// [`Meaning::Expired`]: super::classify::Meaning::Expired
    pub async fn next(&mut self) -> Result<Option<Vec<T>>, CallError> {
        let page = match &self.next {
            Next::First => {
                let call = Call::list(self.selection, PAGE, None);
                self.api.once::<Page<T>>(&call, Deadline::after(PATIENCE)).await?
            }
            Next::After(token) => self.further(&Call::list(self.selection, PAGE, Some(token))).await?,
            Next::Nothing => return Ok(None),
        };
        self.version = page.metadata.resource_version;
        self.next = match page.metadata.continued {
            token if token.is_empty() => Next::Nothing,
            token => Next::After(token),
        };
        Ok(Some(page.items.unwrap_or_default()))
    }

    /// The resource version that a watch after the last page begins at.
    #[must_use]
    pub fn version(self) -> String {
        self.version
    }

    async fn further(&self, call: &Call) -> Result<Page<T>, CallError> {
        let mut patience = Patience::until(Deadline::after(PATIENCE));
        loop {
            match self.api.once(call, patience.deadline()).await {
                Ok(page) => return Ok(page),
                Err(error) if !error.may_pass() => return Err(error),
                Err(error) => {
                    tracing::debug!(error = %chain(&error), "no page yet; trying again");
                    if let Err(TimeIsUp) = patience.pause(error.retry_after()).await {
                        return Err(error);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::call::MetadataOnly;

    #[test]
    fn a_page_is_read_as_the_api_writes_it() {
        let page = |text| serde_json::from_str::<Page<MetadataOnly>>(text).unwrap();
        let empty = page(r#"{"kind":"PartialObjectMetadataList","metadata":{"resourceVersion":"7"},"items":null}"#);
        assert!(empty.items.is_none() && empty.metadata.continued.is_empty());
        let first = page(
            r#"{"metadata":{"resourceVersion":"7","continue":"abc","remainingItemCount":1},"items":[{"metadata":{"name":"app-0"}}]}"#,
        );
        assert_eq!((first.metadata.continued.as_str(), first.metadata.resource_version.as_str()), ("abc", "7"));
        assert_eq!(first.items.unwrap()[0].metadata.name.as_deref(), Some("app-0"));
        let status = r#"{"kind":"Status","metadata":{},"status":"Success"}"#;
        assert!(serde_json::from_str::<Page<MetadataOnly>>(status).is_err(), "not an empty list");
    }
}
