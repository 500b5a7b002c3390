-- Removes a session and its lease to make room; answers its snapshots. It stays if it has
-- changed since the caller has seen it, if it has unfinished work, or if a store that is
-- alive has its lease. A lease that the caller has seen run out is no reason.
CREATE FUNCTION prune_session(
    p_owner text, p_session text, p_seen bigint, p_expired_fence bigint
) RETURNS TABLE (was_there boolean, snapshot text) AS $$
BEGIN
    -- In the order in which a write locks them.
    PERFORM FROM leases WHERE leases.owner = p_owner AND leases.session = p_session
        AND is_held AND fence IS DISTINCT FROM p_expired_fence AND is_alive(instance)
    FOR UPDATE;
    IF FOUND OR EXISTS (
        SELECT FROM snapshots JOIN sessions ON sessions.number = snapshots.session
        WHERE sessions.owner = p_owner AND sessions.id = p_session AND work IS NOT NULL
    ) THEN
        RETURN QUERY SELECT false, NULL::text;
        RETURN;
    END IF;
    RETURN QUERY SELECT * FROM drop_session(p_owner, p_session, p_seen);
END
$$ LANGUAGE plpgsql;
