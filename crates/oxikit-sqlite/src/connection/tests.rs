//! Files of earlier and later versions, with tables that are made for these tests.

use super::*;

const FIRST: Schema = Schema {
    application: 0x7465_7374,
    tables: &["notes"],
    unreleased: 2,
    steps: &["CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('of the first step')"],
};
const SECOND: Schema =
    Schema { steps: &[FIRST.steps[0], "ALTER TABLE notes ADD COLUMN size INTEGER"], ..FIRST };

const BROKEN: Schema =
    Schema { steps: &[SECOND.steps[0], SECOND.steps[1], "this is not SQL"], ..FIRST };

fn open(path: &Path, schema: &Schema) -> Result<Connection, OpenError> {
    writer(path, &FileOptions::default(), schema)
}

fn version(connection: &Connection) -> i64 {
    pragma(connection, "user_version").unwrap()
}

#[test]
fn a_file_takes_the_steps_that_it_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let first = open(&path, &FIRST).unwrap();
    first.execute("INSERT INTO notes VALUES ('mine')", []).unwrap();
    assert_eq!(version(&first), 3, "two unreleased versions, and one step");
    drop(first);
    let second = open(&path, &SECOND).unwrap();
    let sql = "SELECT group_concat(text, ', ') FROM notes WHERE size IS NULL";
    let notes: String = second.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!((&*notes, version(&second)), ("of the first step, mine", 4));
    let again = open(&path, &SECOND).unwrap();
    assert_eq!(version(&again), 4, "there is nothing to do");
    let error = open(&path, &FIRST).unwrap_err();
    assert!(matches!(error, OpenError::TooNew { found: 4, known: 3 }), "{error:?}");
}

#[test]
fn a_step_that_fails_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    drop(open(&path, &FIRST).unwrap());
    assert!(matches!(open(&path, &BROKEN), Err(OpenError::Sqlite(_))));
    let first = open(&path, &FIRST).unwrap();
    assert_eq!(version(&first), 3);
    assert!(first.prepare("SELECT size FROM notes").is_err(), "no step was taken");
}

#[test]
fn a_file_of_an_unreleased_version_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    for found in 1..=FIRST.unreleased {
        let path = folder.path().join(format!("{found}.db"));
        let old = Connection::open(&path).unwrap();
        old.execute_batch("CREATE TABLE notes (other TEXT)").unwrap();
        old.pragma_update(None, "application_id", FIRST.application).unwrap();
        old.pragma_update(None, "user_version", found).unwrap();
        drop(old);
        let before = fs::read(&path).unwrap();
        let error = open(&path, &SECOND).unwrap_err();
        assert!(matches!(error, OpenError::Unreleased { found: is } if is == found), "{error:?}");
        assert!(error.to_string().contains("move or delete it"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), before);
        let old = of_any_version(&path, &FileOptions::default(), &SECOND).unwrap();
        assert_eq!(version(&old), i64::from(found), "it can be read as it is");
    }
}
