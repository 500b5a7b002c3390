-- Numbers of snapshots, segments and documents. They are handed out in blocks, so
-- that a write knows all of its numbers before it is made.
CREATE SEQUENCE numbers INCREMENT BY 64;
-- The order of writes, over all sessions.
CREATE SEQUENCE writes;
CREATE SEQUENCE fences;

CREATE TABLE sessions (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner text NOT NULL,
    id text NOT NULL,
    agent text NOT NULL,
    metadata text,
    -- The greatest was written last.
    written bigint NOT NULL,
    -- Another one after every change.
    version bigint NOT NULL,
    written_at timestamptz NOT NULL,
    -- All that is kept of it.
    bytes bigint NOT NULL,
    created_at text NOT NULL,
    snapshots bigint NOT NULL,
    orphans bigint NOT NULL,
    latest bigint NOT NULL,
    completed bigint,
    is_active boolean NOT NULL,
    UNIQUE (owner, id)
);
CREATE INDEX sessions_written ON sessions (owner, written);
CREATE INDEX sessions_active ON sessions (owner, is_active, written);
CREATE INDEX sessions_agent ON sessions (owner, agent, written);
CREATE INDEX sessions_agent_active ON sessions (owner, agent, is_active, written);
CREATE INDEX sessions_age ON sessions (written_at);
CREATE INDEX sessions_order ON sessions (written);

-- Messages of snapshots: those of the parent up to `start`, then its own. `length`
-- counts both.
CREATE TABLE segments (
    number bigint PRIMARY KEY,
    session bigint NOT NULL REFERENCES sessions ON DELETE CASCADE,
    parent bigint,
    start bigint NOT NULL,
    length bigint NOT NULL
);
CREATE INDEX segments_session ON segments (session);

CREATE TABLE messages (
    segment bigint NOT NULL REFERENCES segments ON DELETE CASCADE,
    -- Counted from the first message of the snapshot.
    position bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (segment, position)
);

-- Artifacts, and custom states: whole, or what to change in `base`.
CREATE TABLE documents (
    number bigint PRIMARY KEY,
    session bigint NOT NULL REFERENCES sessions ON DELETE CASCADE,
    base bigint,
    body text NOT NULL
);
CREATE INDEX documents_session ON documents (session);

CREATE TABLE snapshots (
    number bigint PRIMARY KEY,
    session bigint NOT NULL REFERENCES sessions ON DELETE CASCADE,
    owner text NOT NULL,
    id text NOT NULL,
    revision bigint NOT NULL,
    parent text,
    created_at text NOT NULL,
    updated_at text,
    heartbeat_at text,
    status text,
    finish_reason text,
    error text,
    head_bytes bigint NOT NULL,
    has_state boolean NOT NULL,
    segment bigint,
    length bigint,
    message_bytes bigint,
    custom bigint,
    custom_depth bigint,
    custom_bytes bigint,
    -- Documents, and the bytes of each.
    artifacts bigint[],
    artifact_bytes bigint[],
    work text,
    UNIQUE (owner, id)
);
CREATE INDEX snapshots_session ON snapshots (session, number);
CREATE INDEX snapshots_work ON snapshots (number) WHERE work IS NOT NULL;

CREATE TABLE leases (
    owner text NOT NULL,
    session text NOT NULL,
    fence bigint NOT NULL,
    -- Counts how often it was renewed.
    beat bigint NOT NULL,
    ttl_ms bigint NOT NULL,
    -- The store that has it; it holds a lock of this number.
    instance bigint NOT NULL,
    -- Not so when it was given back. The row stays, so that the last write of a turn
    -- can be made again when its answer was lost.
    is_held boolean NOT NULL,
    -- A random number of whoever took it. One whose answer was lost knows by it that the
    -- lease is its own.
    attempt bigint NOT NULL,
    PRIMARY KEY (owner, session)
);

CREATE TABLE streams (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE,
    owner text NOT NULL,
    position bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    ended_at timestamptz
);
CREATE INDEX streams_ended ON streams (ended_at);

CREATE TABLE stream_events (
    stream bigint NOT NULL REFERENCES streams ON DELETE CASCADE,
    sequence bigint NOT NULL,
    kind smallint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (stream, sequence)
);

-- Whether the store of this number is alive: as long as it is, it holds a lock of the
-- number. The lock is looked for and not tried, as those who try at the same time would
-- take each other for the store.
CREATE FUNCTION is_alive(p_instance bigint) RETURNS boolean AS $$
    SELECT EXISTS (
        SELECT FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 1 AND granted
            AND classid = ((p_instance >> 32) & 4294967295)::oid
            AND objid = (p_instance & 4294967295)::oid
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    )
$$ LANGUAGE sql;

-- Takes a lease: if it is free, if it is taken by force, if the store that has it is
-- gone, if the caller has seen it unchanged for so long that it has run out, or if it was
-- taken by an attempt of the caller's that was never answered. Else answers how it is.
CREATE FUNCTION take_lease(
    p_owner text, p_session text, p_ttl_ms bigint, p_instance bigint, p_by_force boolean,
    p_old_fence bigint, p_old_beat bigint, p_attempt bigint, p_unanswered bigint[]
) RETURNS TABLE (is_taken boolean, fence bigint, beat bigint, ttl_ms bigint) AS $$
DECLARE
    held leases%ROWTYPE;
BEGIN
    LOOP
        SELECT * INTO held FROM leases
        WHERE leases.owner = p_owner AND leases.session = p_session FOR UPDATE;
        IF NOT FOUND THEN
            INSERT INTO leases AS new VALUES (
                p_owner, p_session, nextval('fences'), 0, p_ttl_ms, p_instance, true, p_attempt
            ) ON CONFLICT DO NOTHING RETURNING new.* INTO held;
            -- Somebody else may have been faster.
            CONTINUE WHEN NOT FOUND;
        ELSIF p_by_force OR NOT held.is_held OR held.attempt = ANY (p_unanswered)
            OR (held.fence = p_old_fence AND held.beat = p_old_beat)
            OR NOT is_alive(held.instance)
        THEN
            UPDATE leases AS old SET
                fence = nextval('fences'), beat = 0, ttl_ms = p_ttl_ms, instance = p_instance,
                is_held = true, attempt = p_attempt
            WHERE old.owner = p_owner AND old.session = p_session RETURNING old.* INTO held;
        ELSE
            RETURN QUERY SELECT false, held.fence, held.beat, held.ttl_ms;
            RETURN;
        END IF;
        RETURN QUERY SELECT true, held.fence, held.beat, held.ttl_ms;
        RETURN;
    END LOOP;
END
$$ LANGUAGE plpgsql;

-- Writes a snapshot, and all that belongs to it, if the session is as the caller has
-- seen it and the caller's lease is still its own. Answers 'saved' and the segment of
-- the messages, or 'fenced' or 'conflict'.
CREATE FUNCTION save_snapshot(
    p_owner text, p_session text, p_seen bigint, p_agent text, p_metadata text,
    p_fence bigint, p_releases boolean,
    -- What the session's row says then.
    p_created_at text, p_snapshots bigint, p_orphans bigint, p_latest bigint,
    p_completed bigint, p_is_active boolean, p_bytes bigint,
    -- The snapshot's row. The head: parent, the three times, status, reason, error.
    p_number bigint, p_id text, p_revision bigint, p_head text[], p_head_bytes bigint,
    p_work text, p_has_state boolean,
    -- Messages: those kept of a segment, and those added, perhaps to a new segment.
    p_segment bigint, p_kept bigint, p_message_bytes bigint, p_added text[],
    p_new_segment bigint,
    p_custom bigint, p_custom_depth bigint, p_custom_bytes bigint, p_artifacts bigint[],
    p_artifact_bytes bigint[],
    -- New documents: numbers, bases, texts.
    p_documents bigint[], p_bases bigint[], p_texts text[],
    -- The segment and the documents that the row had and that perhaps nobody has any more.
    p_former_segment bigint, p_former bigint[]
) RETURNS TABLE (outcome text, session bigint, segment bigint) AS $$
DECLARE
    v_session bigint;
    v_segment bigint := p_segment;
    v_parent bigint := p_segment;
    v_next bigint;
    v_length bigint := p_kept + cardinality(p_added);
BEGIN
    IF p_fence IS NOT NULL THEN
        PERFORM FROM leases WHERE leases.owner = p_owner AND leases.session = p_session
            AND leases.fence = p_fence FOR UPDATE;
        IF NOT FOUND THEN
            RETURN QUERY SELECT 'fenced', NULL::bigint, NULL::bigint;
            RETURN;
        END IF;
    END IF;

    IF p_seen IS NULL THEN
        INSERT INTO sessions (
            owner, id, agent, metadata, written, version, written_at, bytes, created_at,
            snapshots, orphans, latest, completed, is_active
        ) VALUES (
            p_owner, p_session, p_agent, p_metadata, nextval('writes'), nextval('writes'), now(),
            p_bytes, p_created_at, p_snapshots, p_orphans, p_latest, p_completed, p_is_active
        ) ON CONFLICT DO NOTHING RETURNING number INTO v_session;
    ELSE
        UPDATE sessions SET
            metadata = coalesce(p_metadata, metadata), written = nextval('writes'),
            version = nextval('writes'), written_at = now(), bytes = p_bytes, created_at = p_created_at,
            snapshots = p_snapshots, orphans = p_orphans, latest = p_latest,
            completed = p_completed, is_active = p_is_active
        WHERE owner = p_owner AND id = p_session AND version = p_seen
        RETURNING number INTO v_session;
    END IF;
    IF NOT FOUND THEN
        RETURN QUERY SELECT 'conflict', NULL::bigint, NULL::bigint;
        RETURN;
    END IF;

    IF cardinality(p_added) > 0 THEN
        UPDATE segments SET length = v_length
        WHERE number = p_segment AND length = p_kept;
        IF NOT FOUND THEN
            v_segment := p_new_segment;
            -- It goes on from the segment that has the last message kept.
            LOOP
                SELECT parent INTO v_next FROM segments
                WHERE number = v_parent AND start >= p_kept;
                EXIT WHEN NOT FOUND;
                v_parent := v_next;
            END LOOP;
            INSERT INTO segments (number, session, parent, start, length)
            VALUES (v_segment, v_session, v_parent, p_kept, v_length);
        END IF;
        INSERT INTO messages (segment, position, body)
        SELECT v_segment, p_kept + added.ordinal - 1, added.body
        FROM unnest(p_added) WITH ORDINALITY AS added (body, ordinal);
    END IF;

    INSERT INTO documents (number, session, base, body)
    SELECT new.number, v_session, new.base, new.body
    FROM unnest(p_documents, p_bases, p_texts) AS new (number, base, body);

    INSERT INTO snapshots AS row (
        number, session, owner, id, revision, parent, created_at, updated_at, heartbeat_at,
        status, finish_reason, error, head_bytes, has_state, segment, length, message_bytes,
        custom, custom_depth, custom_bytes, artifacts, artifact_bytes, work
    ) VALUES (
        p_number, v_session, p_owner, p_id, p_revision, p_head[1], p_head[2], p_head[3],
        p_head[4], p_head[5], p_head[6], p_head[7], p_head_bytes, p_has_state,
        v_segment, v_length, p_message_bytes,
        p_custom, p_custom_depth, p_custom_bytes, p_artifacts, p_artifact_bytes, p_work
    ) ON CONFLICT (number) DO UPDATE SET
        revision = p_revision, parent = p_head[1], created_at = p_head[2],
        updated_at = p_head[3], heartbeat_at = p_head[4], status = p_head[5],
        finish_reason = p_head[6], error = p_head[7], head_bytes = p_head_bytes,
        has_state = p_has_state, segment = v_segment, length = v_length,
        message_bytes = p_message_bytes, custom = p_custom, custom_depth = p_custom_depth,
        custom_bytes = p_custom_bytes, artifacts = p_artifacts, artifact_bytes = p_artifact_bytes, work = p_work;

    IF p_former_segment <> v_segment OR v_segment IS NULL THEN
        PERFORM drop_segment(v_session, p_former_segment);
    END IF;
    IF cardinality(p_former) > 0 THEN
        PERFORM drop_documents(v_session, p_former);
    END IF;
    IF p_releases THEN
        UPDATE leases SET is_held = false
        WHERE leases.owner = p_owner AND leases.session = p_session
            AND leases.fence = p_fence;
    END IF;
    RETURN QUERY SELECT 'saved', v_session, v_segment;
END
$$ LANGUAGE plpgsql;

-- Removes the segment if nobody has it any more.
CREATE FUNCTION drop_segment(p_session bigint, p_segment bigint) RETURNS void AS $$
DECLARE
    v_bytes bigint;
BEGIN
    IF p_segment IS NULL
        OR EXISTS (SELECT FROM snapshots WHERE session = p_session AND segment = p_segment)
        OR EXISTS (SELECT FROM segments WHERE session = p_session AND parent = p_segment)
    THEN
        RETURN;
    END IF;
    SELECT coalesce(sum(octet_length(body)), 0) INTO v_bytes FROM messages
    WHERE segment = p_segment;
    DELETE FROM segments WHERE number = p_segment;
    UPDATE sessions SET bytes = bytes - v_bytes WHERE number = p_session;
END
$$ LANGUAGE plpgsql;

-- Removes those of the documents that nobody has any more.
CREATE FUNCTION drop_documents(p_session bigint, p_documents bigint[]) RETURNS void AS $$
    WITH gone AS (
        DELETE FROM documents WHERE documents.number = ANY (p_documents)
            AND NOT EXISTS (
                SELECT FROM documents AS other
                WHERE other.session = p_session AND other.base = documents.number
            )
            AND NOT EXISTS (
                SELECT FROM snapshots WHERE snapshots.session = p_session
                    AND (snapshots.custom = documents.number
                        OR documents.number = ANY (snapshots.artifacts))
            )
        RETURNING octet_length(body) AS bytes
    )
    UPDATE sessions SET bytes = bytes - (SELECT coalesce(sum(gone.bytes), 0) FROM gone)
    WHERE number = p_session
$$ LANGUAGE sql;

-- Removes snapshots of a session, and what only they had.
CREATE FUNCTION drop_snapshots(p_session bigint, p_snapshots bigint[]) RETURNS void AS $$
BEGIN
    DELETE FROM snapshots WHERE session = p_session AND number = ANY (p_snapshots);
    WITH RECURSIVE used AS (
        SELECT segment AS number FROM snapshots WHERE session = p_session
        UNION
        SELECT parent FROM segments JOIN used USING (number)
    )
    DELETE FROM segments WHERE session = p_session
        AND NOT EXISTS (SELECT FROM used WHERE used.number = segments.number);
    WITH RECURSIVE used AS (
        (SELECT custom AS number FROM snapshots WHERE session = p_session
         UNION
         SELECT unnest(artifacts) FROM snapshots WHERE session = p_session)
        UNION
        SELECT base FROM documents JOIN used USING (number)
    )
    DELETE FROM documents WHERE session = p_session
        AND NOT EXISTS (SELECT FROM used WHERE used.number = documents.number);
    UPDATE sessions SET version = nextval('writes'), bytes = (
        SELECT coalesce(sum(head_bytes), 0) FROM snapshots WHERE session = p_session
    ) + (
        SELECT coalesce(sum(octet_length(body)), 0) FROM documents WHERE session = p_session
    ) + (
        SELECT coalesce(sum(octet_length(body)), 0)
        FROM messages JOIN segments ON segments.number = messages.segment
        WHERE session = p_session
    ) WHERE number = p_session;
END
$$ LANGUAGE plpgsql;

-- Removes a session and its lease, unless it has changed since the caller has seen it;
-- answers its snapshots.
CREATE FUNCTION drop_session(p_owner text, p_session text, p_seen bigint)
RETURNS TABLE (was_there boolean, snapshot text) AS $$
DECLARE
    v_session bigint;
BEGIN
    -- In the order in which a write locks them.
    PERFORM FROM leases WHERE leases.owner = p_owner AND leases.session = p_session FOR UPDATE;
    SELECT number INTO v_session FROM sessions
    WHERE sessions.owner = p_owner AND sessions.id = p_session
        AND sessions.version = coalesce(p_seen, sessions.version)
    FOR UPDATE;
    IF v_session IS NOT NULL OR p_seen IS NULL THEN
        DELETE FROM leases WHERE leases.owner = p_owner AND leases.session = p_session;
    END IF;
    RETURN QUERY SELECT v_session IS NOT NULL, snapshots.id
        FROM (SELECT) AS one LEFT JOIN snapshots ON snapshots.session = v_session;
    DELETE FROM sessions WHERE sessions.number = v_session;
END
$$ LANGUAGE plpgsql;
