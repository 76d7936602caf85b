<!DOCTYPE html>
<html>
<?php

declare(strict_types=1);

namespace Shop\Orders;

use Shop\Catalog\{Product, Price as Money, function discount, const VAT};
use Psr\Log\LoggerInterface;
use function Shop\Util\slug as makeSlug;

require_once __DIR__ . '/bootstrap.php';
include 'legacy/tax.php';

const LIMIT = 50, OPEN = 'open';
define('SHOP_DEBUG', false);

/**
 * One order of a customer.
 *
 * @internal
 */
#[ORM\Entity(table: "orders"), Cached]
abstract class Order extends Base\Model implements \JsonSerializable, HasTotal
{
    use SoftDeletes, Loggable {
        Loggable::write insteadof SoftDeletes;
        write as protected writeLog;
    }

    public const int MAX = self::STEP * 10, STEP = 5;

    /** @var Line[] */
    private array $lines = [];
    protected static ?self $last = null, $first;
    /** @var Repository */
    private $repository;
    var $note;

    public function __construct(
        private readonly LoggerInterface $logger,
        #[Sensitive] protected ?Money $paid = null,
        string $title = OPEN,
    ) {
        parent::__construct($title);
        $this->repository = new Repository('orders', $logger);
        self::$last = $this;
    }

    /**
     * Adds lines.
     *
     * @param Product $product what is bought
     * @return static
     */
    final public function add($product, int &$count, Line|Gift ...$more): static
    {
        $line = new \Shop\Line($product, LIMIT);
        $this->lines[] = $line;
        $this->logger?->info("added {$product->name}", ['n' => $count]);
        $total = $this->total()->plus(discount($product));
        foreach ($more as $key => $this->note) {
            $handler = fn (Gift $gift): bool => $gift->price > VAT;
            $handler($key);
        }
        if (!$line instanceof Gift || Order::MAX < \count($more)) {
            throw new Errors\TooMany("no more than", code: self::MAX);
        }
        try {
            $saved = static::repository()->save($this, <<<SQL
                update orders set total = 1
                SQL);
        } catch (Errors\Broken | \PDOException $error) {
            echo $error->getMessage(), SHOP_DEBUG, __CLASS__;
        }
        [$this->paid, $rest] = split($total);
        array_map([$this, 'check'], $more);
        $name = Product::class;
        $made = $name::create(...);
        $copy = clone $line;
        return $this;
    }

    abstract protected static function repository(): Repository;

    #[\Override]
    public function jsonSerialize(): mixed
    {
        return new class($this->lines) extends Exported implements Sized {
            public function __construct(public array $rows) {}
        };
    }

    public string $label {
        get => makeSlug($this->note);
        set(string $value) { $this->note = $value; }
    }
}

interface HasTotal extends Countable
{
    public function total(): Money;
}

trait Loggable
{
    private $log = null;
    function write(string $text) { $this->log->write($text, static fn ($x) => $x); }
}

enum State: string implements HasLabel
{
    case Open = 'open';
    case Paid = 'paid';
    const START = self::Open;
    public static function first(): self { return self::from('open'); }
}

if (!function_exists('total')) {
    function total(Order $order): float { return $order->total(); }
}
$shop = new Shop(total: 3);
$closure = function (Order $order) use ($shop, &$total): void { $shop->close($order); };
?>
<body>
  <?php foreach ($orders as $order): ?>
    <li><?= escape($order->title) ?></li>
  <?php endforeach ?>
</body>
