//! The one operation of oxikit: Action, Run, Status, Registry, and the ports around them.
