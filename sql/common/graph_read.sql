-- The graph on record, and who serves since when. Always one row.
select c.structure, c.checksum, c.serving, c.since from control_plane c
