-- Takes or renews the right to serve, a row that lapses. Zero rows: another control plane has it.
update control_plane set held_until = :held_until, holder = :holder
where holder = :holder or held_until is null or held_until < :now
returning epoch
