//! Reads the Service template, from a ConfigMap or a local file; what is in it is not its business.

use std::path::{Path, PathBuf};

use common::api::{
    call::Call,
    client::{Api, PersistError},
    resource::Resource,
    retry::Deadline,
};
use k8s_openapi::api::core::v1::ConfigMap;

/// The template cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// No ConfigMap of the name.
    #[error("ConfigMap {0} does not exist: create it, or name another with --configmap")]
    NoConfigMap(String),
    /// No such key in it.
    #[error("ConfigMap {config_map} has no key {key:?}; it has {}: name one of them with --configmapkey", listed(.there))]
    NoKey {
        /// Namespace and name.
        config_map: String,
        /// The key that was looked for.
        key: String,
        /// The keys there are.
        there: Vec<String>,
    },
    /// The key holds bytes that are no text.
    #[error("ConfigMap {config_map}, key {key:?}: it is in binaryData, and a template is text: put it in data")]
    Binary {
        /// Namespace and name.
        config_map: String,
        /// The key.
        key: String,
    },
    /// The file cannot be read.
    #[error("cannot read the template file {}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Something that is no file, or one that cannot be a template.
    #[error("the template {} is no regular file of at most {} bytes: name a file", .0.display(), LARGEST_FILE)]
    NoFile(PathBuf),
    /// The API refused, or did not answer in time.
    #[error(transparent)]
    Call(#[from] PersistError),
}

/// The largest template file: as much as a ConfigMap can hold.
const LARGEST_FILE: u64 = 1024 * 1024;

fn listed(keys: &[String]) -> String {
    if keys.is_empty() { "no keys".to_owned() } else { keys.join(", ") }
}

/// The text of one key of a ConfigMap.
///
/// # Errors
/// Where the ConfigMap or the key is not there, or cannot be read.
pub async fn from_config_map(
    api: &Api,
    namespace: &str,
    name: &str,
    key: &str,
    deadline: Deadline,
) -> Result<String, SourceError> {
    let call = Call::get(Resource::ConfigMaps, namespace, name);
    let config_map = || format!("{namespace}/{name}");
    match api.read(&call, deadline).await? {
        Some(found) => pick(found, config_map(), key),
        None => Err(SourceError::NoConfigMap(config_map())),
    }
}

fn pick(found: ConfigMap, config_map: String, key: &str) -> Result<String, SourceError> {
    let mut data = found.data.unwrap_or_default();
    let binary = found.binary_data.unwrap_or_default();
    match data.remove(key) {
        Some(text) => Ok(text),
        None if binary.contains_key(key) => Err(SourceError::Binary { config_map, key: key.to_owned() }),
        None => Err(SourceError::NoKey { config_map, key: key.to_owned(), there: data.into_keys().collect() }),
    }
}

/// The text of a local file.
///
/// # Errors
/// Where it cannot be read, or is no UTF-8 text.
pub fn from_file(path: &Path) -> Result<String, SourceError> {
    let unreadable = |source| SourceError::File { path: path.to_owned(), source };
    // A pipe or a device could keep the program waiting, or fill its memory.
    let file = std::fs::metadata(path).map_err(unreadable)?;
    if !file.is_file() || file.len() > LARGEST_FILE {
        return Err(SourceError::NoFile(path.to_owned()));
    }
    std::fs::read_to_string(path).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config_map() -> ConfigMap {
        serde_json::from_value(serde_json::json!({
            "metadata": {}, "data": {"default.yaml": "text", "other.yaml": ""}, "binaryData": {"blob": "AAE="},
        }))
        .unwrap()
    }

    fn picked(key: &str) -> Result<String, String> {
        pick(config_map(), "ns/cm".into(), key).map_err(|error| error.to_string())
    }

    #[test]
    fn a_missing_key_lists_the_keys_there_are() {
        assert_eq!(picked("default.yaml").as_deref(), Ok("text"));
        assert_eq!(
            picked("default.yml").unwrap_err(),
            "ConfigMap ns/cm has no key \"default.yml\"; it has default.yaml, other.yaml: name one of them with --configmapkey"
        );
        assert!(picked("blob").unwrap_err().contains("binaryData"));
        let empty = pick(ConfigMap::default(), "ns/cm".into(), "k").unwrap_err().to_string();
        assert!(empty.contains("it has no keys"), "{empty}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = from_file(Path::new("/none/template.yaml")).unwrap_err();
        assert_eq!(error.to_string(), "cannot read the template file /none/template.yaml");
        for endless in ["/dev/zero", "/"] {
            assert!(matches!(from_file(Path::new(endless)), Err(SourceError::NoFile(_))), "{endless}");
        }
    }
}
