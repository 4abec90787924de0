-- Gives up the right to serve. Zero rows: it was another's already.
update control_plane set held_until = null where epoch = :epoch returning epoch
