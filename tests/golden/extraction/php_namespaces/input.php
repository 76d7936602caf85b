<?php
namespace First\Part {
    function helper() { return new namespace\Thing(); }
    class Thing {}
}

namespace Second {
    use First\Part\Thing as Other;
    const ONE = 1;
    interface Thing {}
    class Mine extends Other implements Thing {
        public static function make(): ?Other { return parent::make(); }
    }
}

namespace {
    $app = Second\Mine::make();
    \First\Part\helper();
}
