//! Serves oxikit actions over HTTP.
