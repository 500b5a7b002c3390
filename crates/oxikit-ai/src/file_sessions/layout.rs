//! The paths of all files. This is the only place where an id becomes a path, so the check that
//! an id cannot leave the directory is only here.

use std::path::{Path, PathBuf};

use oxikit_core::ports::{Owner, StoreError};

use super::pieces::Pieces;

/// The official name of the folder for snapshots without an owner.
const NOBODY: &str = "global";
/// The pointers of the official layout.
const POINTERS: &str = ".pointers";
/// The folder for data that the official layout has no place for. Official stores only read
/// `*.json` files beside it and ignore it.
pub(super) const OURS: &str = ".oxikit";
/// The folder below [`OURS`] with the lease numbers of sessions that are gone.
pub(super) const FENCES: &str = "fences";
/// The longest name that the usual file systems take.
const MAX_NAME_BYTES: usize = 255;
/// The folder for content that snapshots share, with one folder per session.
const SEGMENTS: &str = "segments";
const JSON: &str = ".json";

/// The folder of one owner.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    /// The owner, as the name of a file.
    pub(super) name: String,
}

impl Folder {
    pub(super) fn of(root: &Path, owner: &Owner) -> Result<Self, StoreError> {
        let name = name_of(owner);
        if name.len() > MAX_NAME_BYTES {
            return Err(StoreError::Invalid("an owner whose name is too long for a folder"));
        }
        Ok(Self { path: root.join(&name), name })
    }

    /// The folder with this name and its owner; `None` if the name is not that of an owner.
    pub(super) fn named(root: &Path, name: &str) -> Option<(Self, Owner)> {
        let owner = owner_of(name)?;
        Some((Self { path: root.join(name), name: name.to_owned() }, owner))
    }

    pub(super) fn snapshot(&self, id: &str) -> Result<PathBuf, StoreError> {
        let refused = StoreError::Invalid("a snapshot id that is not a plain file name");
        Ok(self.path.join(file_name(id).ok_or(refused)?))
    }

    /// The session with this id, if it can be one.
    pub(super) fn session(&self, id: &str) -> Result<Place, StoreError> {
        let refused = StoreError::Invalid("a session id that is not a plain file name");
        let file = file_name(id).ok_or(refused)?;
        Ok(Place { folder: self.clone(), session: id.to_owned(), file })
    }

    pub(super) fn records(&self) -> PathBuf {
        self.path.join(OURS)
    }

    /// A file that is written whenever a line is added to a record: adding to a file does not
    /// change the modification time of its folder, which other processes watch.
    pub(super) fn mark(&self) -> PathBuf {
        self.records().join("changed")
    }

    /// The folder itself and those inside of it.
    pub(super) fn all(&self) -> [PathBuf; 3] {
        [self.path.clone(), self.path.join(POINTERS), self.records()]
    }
}

/// The location of a session.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) folder: Folder,
    pub(super) session: String,
    file: String,
}

impl Place {
    pub(super) fn pointer(&self) -> PathBuf {
        self.folder.path.join(POINTERS).join(&self.file)
    }

    pub(super) fn record(&self) -> PathBuf {
        self.folder.records().join(&self.file)
    }

    /// The content that its snapshots share.
    pub(super) fn pieces(&self) -> Pieces {
        Pieces { folder: self.folder.records().join(SEGMENTS).join(&self.session) }
    }
}

/// The file's name, if the id can be one.
fn file_name(id: &str) -> Option<String> {
    // A colon begins a stream of a file on Windows.
    let is_special = |c: char| matches!(c, '/' | '\\' | '\0') || (cfg!(windows) && c == ':');
    let is_plain = !id.trim().is_empty()
        && !matches!(id, "." | "..")
        && !id.contains(is_special)
        && id.len() + JSON.len() <= MAX_NAME_BYTES;
    is_plain.then(|| format!("{id}{JSON}"))
}

/// The id that a file is named after.
pub(super) fn id_of(file: &str) -> Option<&str> {
    file.strip_suffix(JSON).filter(|id| !id.is_empty())
}

/// `global`, `t-<tenant>`, `u-<principal>` or `t-<tenant>.u-<principal>`.
fn name_of(owner: &Owner) -> String {
    let tenant = owner.tenant.as_deref().map(|tenant| format!("t-{}", escape(tenant)));
    let principal = owner.principal.as_deref().map(|principal| format!("u-{}", escape(principal)));
    match (tenant, principal) {
        (None, None) => NOBODY.to_owned(),
        (Some(one), None) | (None, Some(one)) => one,
        (Some(tenant), Some(principal)) => format!("{tenant}.{principal}"),
    }
}

fn owner_of(name: &str) -> Option<Owner> {
    if name == NOBODY {
        return Some(Owner::nobody());
    }
    let (tenant, principal) = match name.split_once('.') {
        Some((tenant, principal)) => (Some(tenant), Some(principal)),
        None if name.starts_with("t-") => (Some(name), None),
        None => (None, Some(name)),
    };
    let read = |part: Option<&str>, mark| match part {
        Some(part) => part.strip_prefix(mark).and_then(unescape).map(Some),
        None => Some(None),
    };
    let owner = Owner { tenant: read(tenant, "t-")?, principal: read(principal, "u-")? };
    // Another spelling of the same owner was not made by this store, and is ignored.
    (name_of(&owner) == name).then_some(owner)
}

/// Capitals are escaped too: some file systems do not tell them apart.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => escaped.push(byte.into()),
            _ => escaped.push_str(&format!("%{byte:02x}")),
        }
    }
    escaped
}

fn unescape(escaped: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some(first) = rest.chars().next() {
        if first == '%' {
            bytes.push(u8::from_str_radix(rest.get(1..3)?, 16).ok()?);
            rest = &rest[3..];
        } else {
            bytes.push(u8::try_from(first).ok()?);
            rest = &rest[1..];
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn owners_have_readable_folders() {
        let check = |owner: Owner, expected: &str| assert_eq!(name_of(&owner), expected);
        check(Owner::nobody(), "global");
        check(Owner::principal("ada@example.com"), "u-ada%40example%2ecom");
        check(Owner::principal("Ada").of_tenant("t.1"), "t-t%2e1.u-%41da");
        check(Owner::principal("").of_tenant(""), "t-.u-");
        check(Owner::principal("../x"), "u-%2e%2e%2fx");
    }

    #[test]
    fn names_of_other_folders_have_no_owner() {
        for name in ["Global", "users", ".oxikit", "u-Ada", "u-%zz", "u-%4", "t-a.t-b", "u-a.u-b"] {
            assert_eq!(owner_of(name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn every_owner_has_a_folder_of_its_own(tenant: Option<String>, principal: Option<String>) {
            let owner = Owner { tenant, principal };
            prop_assert_eq!(owner_of(&name_of(&owner)), Some(owner));
        }
    }
}
